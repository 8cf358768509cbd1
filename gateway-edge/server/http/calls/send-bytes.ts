import { asAppError } from "../../../../common/errors.ts";
import type { CallResponse } from "../../../calls/http-exchange.ts";
import type { CallHead, DeliveredParts } from "../../../calls/inference/inference-call.ts";
import { callHeaders } from "./call-headers.ts";
import type { IdempotentCall } from "./idempotent-call.ts";
import type { SseWriter } from "./sse-writer.ts";

/** A call whose answer is bytes. */
export interface BytesSending {
  readonly exchange: {
    readonly response: CallResponse;
    readonly callId: string;
    readonly format: { bytesType?(upstreamType: string | undefined): string | undefined };
  };
  readonly result: { readonly head: CallHead; readonly contentType: string | undefined; readonly parts: DeliveredParts };
  readonly idempotent: IdempotentCall;
  readonly writer: SseWriter;
}

/** Streams bytes. An error after the first byte closes the connection, because shortened audio would look complete. */
export async function sendBytes({ exchange, result, idempotent, writer }: BytesSending): Promise<void> {
  const { response, callId, format } = exchange;
  const headers = callHeaders(callId, result.head);
  const contentType = format.bytesType?.(result.contentType) ?? result.contentType ?? "application/octet-stream";
  writer.open({ contentType, headers });
  try {
    // Always iterate, because the end of the iteration settles the call; a break means that the client disconnected.
    for await (const part of result.parts) {
      if (part.type === "settled") {
        await idempotent.store(headers, contentType);
        writer.end("");
      } else if (part.type === "bytes") {
        idempotent.record(part.bytes);
        if (!(await writer.write(part.bytes)) && !idempotent.goesOn) break;
      }
    }
  } catch (thrown) {
    response.locals["error"] = asAppError(thrown);
    response.destroy();
  }
}
