import type { OpenContent } from "../content/call-content.ts";
import type { Contents } from "../content/contents.ts";
import type { DeliveredParts, InferenceResult } from "../inference/inference-call.ts";
import type { LayeredCall, RunCall } from "../inference/run-call.ts";

/** The layer that collects prompt and answer of calls whose organization or key stores them, as guardrails leave them. */
export function recordedRun(contents: Contents, run: RunCall): RunCall {
  return (call) => (call.caller.logContent ? runRecorded(contents, run, call) : run(call));
}

async function runRecorded<Answer>(contents: Contents, run: RunCall, call: LayeredCall<Answer>): Promise<InferenceResult<Answer>> {
  const content = contents.begin(call);
  if (!content) return run(call);
  const { review, callId } = call;
  try {
    const result = await run({
      ...call,
      review: async (answer, bill) => {
        const shown = review ? await review(answer, bill) : answer;
        content.answered(shown);
        return shown;
      },
    });
    if (result.type === "stream") return { ...result, parts: collected(result.parts, content, () => contents.forget(callId)) };
    contents.forget(callId);
    return result;
  } catch (thrown) {
    // A call that was settled has left already.
    contents.forget(callId);
    throw thrown;
  }
}

async function* collected(parts: DeliveredParts, content: OpenContent, ended: () => void): DeliveredParts {
  try {
    for await (const part of parts) {
      content.delivered(part);
      yield part;
    }
  } finally {
    ended();
  }
}
