import type { ChatRequest } from "../../schemas/calls/chat.ts";
import type { ChatAnswer } from "../../upstream/providers/provider.ts";
import { chatJob } from "../inference/jobs/chat.ts";
import { routingOf } from "../inference/route-request.ts";
import { ChatFrames, chatCompletion, chatIdentity } from "./chat-frames.ts";
import type { ResponseFormat } from "./response-format.ts";

/** The job of a chat request and the format of its answer, for a single call and for a line of a batch. */
export function chatExchange(chat: ChatRequest) {
  return { job: chatJob(chat), routing: routingOf(chat), format: chatFormat(chat.stream_options?.include_usage === true) };
}

function chatFormat(withUsage: boolean): ResponseFormat<ChatAnswer> {
  return {
    whole: (answer, context) => chatCompletion(chatIdentity(context), { answer, bill: context.bill }),
    stream: (context) => {
      const frames = new ChatFrames(chatIdentity(context), { withUsage });
      return { frames: (part) => frames.frames(part), last: (bill) => (withUsage ? frames.usageFrame(bill) : "") };
    },
  };
}
