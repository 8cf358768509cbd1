import type { RequestHandler } from "express";
import { toJson } from "../../common/json.ts";
import { type FinishCause, finishDetails } from "../dialects/finish-details.ts";
import { completionsJob } from "../inference/jobs/completions.ts";
import type { DeliveredPart } from "../inference/run-inference.ts";
import { callerOf } from "../middleware/authenticate-key.ts";
import type { CompletionsAnswer } from "../providers/provider.ts";
import { type CompletionsRequest, parseCompletionsRequest } from "../schemas/completions.ts";
import {
  answerCall,
  type CallDeps,
  GATEWAY_WORDING,
  readCall,
  routingOf,
  type StreamWire,
  type Wire,
  type WireContext,
} from "./answer-call.ts";
import { chatUsage } from "./chat-wire.ts";

/** POST completions, in each of its spellings; `?model=` names the model where the path does not. */
export function completionsHandler(deps: CallDeps): RequestHandler {
  return async (request, response) => {
    const { rawBody, body, pathModel } = await readCall(deps, request);
    const named = pathModel ?? (typeof request.query["model"] === "string" ? request.query["model"] : undefined);
    const asked = parseCompletionsRequest(body, named);
    await answerCall(deps, {
      request,
      response,
      callId: String(response.locals["callId"]),
      endpoint: "/v1/completions",
      caller: callerOf(response),
      ...completionsExchange(asked),
      rawBody,
      pathModel: named,
      errors: GATEWAY_WORDING,
    });
  };
}

/** What a request asks for and how its answer is worded, at whatever door it came in. */
export function completionsExchange(asked: CompletionsRequest) {
  const wire = completionsWire(asked.stream_options?.include_usage === true);
  return { job: completionsJob(asked), routing: routingOf(asked), wire };
}

function completionsWire(withUsage: boolean): Wire<CompletionsAnswer> {
  return {
    whole: ({ choices }, context) => toJson({ ...identity(context), choices: choices.map(choice), usage: chatUsage(context.bill.usage) }),
    stream: (context) => streamWire(context, withUsage),
  };
}

function streamWire(context: WireContext, withUsage: boolean): StreamWire {
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

function identity({ callId, nowMs, model }: WireContext) {
  return { id: `cmpl-${callId.replace(/^call_/, "")}`, object: "text_completion", created: Math.floor(nowMs / 1000), model };
}
