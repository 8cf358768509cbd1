import type { AppError } from "../../../common/errors.ts";
import type { Bill } from "../inference/bill.ts";
import type { DeliveredPart } from "../inference/delivery.ts";

/** How the answer to an operation is serialized for the client. */
export interface ResponseFormat<Answer> {
  whole(answer: Answer, context: FormatContext & { bill: Bill }): string | Promise<string>;
  /** The type of a whole answer; absent: JSON. */
  wholeType?(answer: Answer): string;
  /** The content type of an answer that is the provider's own bytes; absent: the provider's. */
  bytesType?(upstreamType: string | undefined): string | undefined;
  /** Frames of a stream, for operations that build them here; a provider's bytes are sent unchanged. */
  stream?(context: FormatContext): StreamFormat;
  /** What is sent while nothing arrives; absent: a comment. */
  readonly keepAlive?: string;
}

export interface FormatContext {
  readonly callId: string;
  readonly nowMs: number;
  /** As the client knows it. */
  readonly model: string;
}

export interface StreamFormat {
  frames(part: Exclude<DeliveredPart, { type: "settled" }>): string;
  /** The frames before the end. */
  last(bill: Bill): string | Promise<string>;
  /** Absent: `[DONE]`. */
  readonly end?: string;
  /** Serializes an error after the status was sent, and ends the stream; absent: the API's error as one frame, then `[DONE]`. */
  failed?(error: AppError): string | Promise<string>;
}
