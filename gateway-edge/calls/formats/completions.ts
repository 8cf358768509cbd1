import { digitsOfCall } from "../../../common/ids.ts";
import { toJson } from "../../../common/json.ts";
import type { CompletionsRequest } from "../../schemas/calls/completions.ts";
import type { CompletionsAnswer } from "../../upstream/providers/provider.ts";
import type { DeliveredPart } from "../inference/delivery.ts";
import { completionsJob } from "../inference/jobs/completions.ts";
import { routingOf } from "../inference/route-request.ts";
import { chatUsage } from "./chat-frames.ts";
import { type FinishCause, finishDetails } from "./finish-details.ts";
import type { FormatContext, ResponseFormat, StreamFormat } from "./response-format.ts";

/** The job of a request and the format of its answer, for a single call and for a line of a batch. */
export function completionsExchange(asked: CompletionsRequest) {
  const format = completionsFormat(asked.stream_options?.include_usage === true);
  return { job: completionsJob(asked), routing: routingOf(asked), format };
}

function completionsFormat(withUsage: boolean): ResponseFormat<CompletionsAnswer> {
  return {
    whole: ({ choices }, context) => toJson({ ...identity(context), choices: choices.map(choice), usage: chatUsage(context.bill.usage) }),
    stream: (context) => streamFormat(context, withUsage),
  };
}

function streamFormat(context: FormatContext, withUsage: boolean): StreamFormat {
  const frame = (fields: object) => `data: ${toJson({ ...identity(context), ...fields })}\n\n`;
  const usage = withUsage ? { usage: null } : {};
  return {
    frames: (part) => {
      const piece = pieceOf(part);
      return piece ? frame({ choices: [choice(piece)], ...usage }) : "";
    },
    last: (bill) =>
      withUsage ? frame({ choices: [], usage: { ...chatUsage(bill.usage), cost_nano: bill.cost }, cost_nano: bill.cost }) : "",
  };
}

interface Piece {
  index: number;
  text: string;
  finishReason: string | null;
  logprobs: unknown;
  cause?: FinishCause | undefined;
}

function pieceOf(part: Exclude<DeliveredPart, { type: "settled" }>): Piece | undefined {
  if (part.type === "text-delta") return { index: part.choice, text: part.text, finishReason: null, logprobs: part.logprobs ?? null };
  if (part.type === "finish") return { index: part.choice, text: "", finishReason: part.reason, logprobs: null, cause: part.cause };
  return undefined;
}

function choice({ index, text, finishReason, logprobs, cause }: Piece) {
  return { text, index, logprobs, finish_reason: finishReason, ...(cause && { finish_details: finishDetails(cause) }) };
}

function identity({ callId, nowMs, model }: FormatContext) {
  return { id: `cmpl-${digitsOfCall(callId)}`, object: "text_completion", created: Math.floor(nowMs / 1000), model };
}
