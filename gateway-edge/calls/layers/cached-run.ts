import type { Usage } from "../../credit/pricing/usage.ts";
import type { StreamPart } from "../../upstream/providers/provider.ts";
import { ENTRY_BYTES_MAX } from "../cache/response-cache.ts";
import type { LayeredCall, Run, Screen } from "../inference/run.ts";
import type { CallHead, DeliveredParts, InferenceResult } from "../inference/run-inference.ts";
import { answerFromCache } from "./cache-hit.ts";
import { runItems } from "./cached-items.ts";
import { type CachedRunDeps, type Keeping, keepingOf } from "./keeping.ts";

/** The layer that answers a repeated question with the answer it had. What is kept is what the upstream said, before any guardrail. */
export function cachedRun(deps: CachedRunDeps, run: Run): Run {
  return (call) => {
    const keeping = keepingOf(deps, call);
    if (!keeping || (!keeping.controls.read && !keeping.controls.write)) return run(call);
    return keeping.face.items ? runItems({ ...deps, run }, call, keeping) : findOrRun(deps, run, { call, keeping });
  };
}

async function findOrRun<Answer>(
  deps: CachedRunDeps,
  run: Run,
  { call, keeping }: { call: LayeredCall<Answer>; keeping: Keeping<Answer> },
): Promise<InferenceResult<Answer>> {
  const key = keeping.keyOf(keeping.face.request);
  const entry = await keeping.find(key);
  if (entry) return answerFromCache(deps, call, { key, entry });
  return keeping.controls.write ? runAndKeep(run, call, { key, keeping }) : run(call);
}

async function runAndKeep<Answer>(
  run: Run,
  call: LayeredCall<Answer>,
  { key, keeping }: { key: string; keeping: Keeping<Answer> },
): Promise<InferenceResult<Answer>> {
  const { kept } = keeping;
  const heard = new HeardParts();
  let said: Answer | undefined;
  const keep = (answer: Answer | undefined, usage: Usage, head: CallHead) => {
    // After a fallback another model has answered: what it said must not stand in for the one that was asked for.
    if (answer === undefined || head.fallbacks > 0 || !kept.isWhole(answer)) return;
    keeping.store(key, { answer, usage, deploymentId: head.deploymentId });
  };
  const result = await run({
    ...call,
    review: async (answer, bill) => {
      said = answer;
      return call.review ? call.review(answer, bill) : answer;
    },
    screen: (parts) => (call.screen ?? asTheyAre)(heard.listen(parts)),
  });
  if (result.type === "answer") {
    keep(said, result.bill.usage, result.head);
    return result;
  }
  const { head } = result;
  const whenSettled = (usage: Usage) => keep(heard.parts && kept.assemble?.(heard.parts), usage, head);
  return { ...result, parts: notingEnd(result.parts, whenSettled) };
}

const asTheyAre: Screen = (parts) => parts;

/** What a part takes beside its text. */
const PART_BYTES = 64;

/** The parts of the attempt that was answered with; undefined when they were too many to keep. */
class HeardParts {
  parts: StreamPart[] | undefined = [];

  async *listen(source: AsyncIterable<StreamPart>): AsyncGenerator<StreamPart> {
    // Another attempt begins anew.
    this.parts = [];
    let size = 0;
    for await (const part of source) {
      // Without a limit on the parts too, an endless stream of empty ones would stay in memory.
      size += PART_BYTES + sizeOf(part);
      if (size > ENTRY_BYTES_MAX) this.parts = undefined;
      this.parts?.push(part);
      yield part;
    }
  }
}

function sizeOf(part: StreamPart): number {
  if (part.type === "text-delta") return part.text.length + (part.logprobs === undefined ? 0 : JSON.stringify(part.logprobs).length);
  return part.type === "other-delta" ? JSON.stringify(part.fields).length : 0;
}

/** Only a stream that came to its end and is in the ledger is worth keeping. */
async function* notingEnd(parts: DeliveredParts, settled: (usage: Usage) => void): DeliveredParts {
  for await (const part of parts) {
    if (part.type === "settled") settled(part.bill.usage);
    yield part;
  }
}
