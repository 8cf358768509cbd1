import type { RequestHandler } from "express";
import { chatJob } from "../inference/jobs/chat.ts";
import { callerOf } from "../middleware/authenticate-key.ts";
import type { ChatAnswer } from "../providers/provider.ts";
import { type ChatRequest, parseChatRequest } from "../schemas/chat.ts";
import { answerCall, type CallDeps, GATEWAY_WORDING, readCall, routingOf, type Wire } from "./answer-call.ts";
import { ChatFrames, chatCompletion, chatIdentity } from "./chat-wire.ts";

/** POST chat/completions, in each of its spellings. */
export function chatCompletionsHandler(deps: CallDeps): RequestHandler {
  return async (request, response) => {
    const { rawBody, body, pathModel } = await readCall(deps, request);
    const { job, routing, wire } = chatExchange(parseChatRequest(body, pathModel));
    await answerCall(deps, {
      request,
      response,
      callId: String(response.locals["callId"]),
      endpoint: "/v1/chat/completions",
      caller: callerOf(response),
      job,
      routing,
      wire,
      rawBody,
      pathModel,
      errors: GATEWAY_WORDING,
    });
  };
}

/** What a chat request asks for and how its answer is worded, at whatever door it came in. */
export function chatExchange(chat: ChatRequest) {
  return { job: chatJob(chat), routing: routingOf(chat), wire: chatWire(chat.stream_options?.include_usage === true) };
}

function chatWire(withUsage: boolean): Wire<ChatAnswer> {
  return {
    whole: (answer, context) => chatCompletion(chatIdentity(context), { answer, bill: context.bill }),
    stream: (context) => {
      const frames = new ChatFrames(chatIdentity(context), { withUsage });
      return { frames: (part) => frames.frames(part), last: (bill) => (withUsage ? frames.usageFrame(bill) : "") };
    },
  };
}
