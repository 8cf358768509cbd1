import type { Response } from "express";
import { asAppError } from "../../../../common/errors.ts";
import type { CallHead, DeliveredParts } from "../../../calls/inference/run-inference.ts";
import { callHeaders } from "./call-headers.ts";
import type { IdempotentCall } from "./idempotent-call.ts";
import type { SseWriter } from "./sse-writer.ts";

export interface BytesSending {
  readonly exchange: {
    readonly response: Response;
    readonly callId: string;
    readonly format: { bytesType?(upstreamType: string | undefined): string | undefined };
  };
  readonly result: { readonly head: CallHead; readonly contentType: string | undefined; readonly parts: DeliveredParts };
  readonly idempotent: IdempotentCall;
  readonly writer: SseWriter;
}

/** Bytes as they come. What goes wrong after the first can only be told by cutting the line: a shorter sound would pass for whole. */
export async function sendBytes({ exchange, result, idempotent, writer }: BytesSending): Promise<void> {
  const { response, callId, format } = exchange;
  const headers = callHeaders(callId, result.head);
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  const contentType = format.bytesType?.(result.contentType) ?? result.contentType ?? "application/octet-stream";
  writer.open(contentType);
  try {
    // Must be iterated whatever happens, for the call is settled at the end of it; to break off means that the client left.
    for await (const part of result.parts) {
      if (part.type === "settled") {
        await idempotent.keep(headers, contentType);
        writer.end("");
      } else if (part.type === "bytes") {
        idempotent.record(part.bytes);
        if (!(await writer.write(part.bytes))) break;
      }
    }
  } catch (thrown) {
    response.locals["error"] = asAppError(thrown);
    response.destroy();
  }
}
