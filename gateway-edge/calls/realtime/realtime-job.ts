import type { Job } from "../inference/job.ts";

/** The whole context of a realtime model: each response may read all of the conversation so far. */
const CONTEXT_TOKENS = 32_768;

/** One response of a realtime session, as planning, metering and the log see it. The events of its session carry its request and answer. */
export function realtimeJob(model: string): Job<never> {
  return {
    operation: "realtime",
    model,
    stream: true,
    choiceCount: 1,
    maxOutputTokens: undefined,
    endUser: undefined,
    tags: [],
    countInput: () => CONTEXT_TOKENS,
    // A session has no output limit to compare a report with. What is delivered without a report is estimated by the turn.
    estimate: () => ({ input: 0, output: 0 }),
    isOfferedBy: (provider) => provider.realtime !== undefined,
    request: notByRequest,
    readAnswer: notByRequest,
    readStream: notByRequest,
  };
}

function notByRequest(): never {
  throw new Error("a realtime session is not a request");
}
