import type { Usage } from "../../credit/pricing/usage.ts";
import type { StreamPart } from "../../upstream/providers/provider.ts";
import { ENTRY_BYTES_MAX } from "../cache/response-cache.ts";
import type { CallHead, DeliveredParts, InferenceResult } from "../inference/inference-call.ts";
import type { LayeredCall, RunCall, Screen } from "../inference/run-call.ts";
import { answerFromCache, answerReserved } from "./cache-hit.ts";
import { type CachedCall, type CachedRunDeps, cachedCallOf } from "./cached-call.ts";
import { runItems } from "./cached-items.ts";
import { type SimilarCall, similarCallOf } from "./similar-call.ts";

/** The layer that answers a repeated request from the cache, and a similar one where that is enabled. It stores what the upstream answered, before any guardrail. */
export function cachedRun(deps: CachedRunDeps, run: RunCall): RunCall {
  return (call) => {
    // Another address, key or version may answer otherwise, and its answer is for this client alone.
    if (call.routing.client) return run(call);
    const cached = cachedCallOf(deps, call);
    if (!cached || (!cached.controls.read && !cached.controls.write)) return run(call);
    return cached.traits.batch ? runItems({ ...deps, run }, call, cached) : findOrRun(deps, run, { call, cached });
  };
}

async function findOrRun<Answer>(
  deps: CachedRunDeps,
  run: RunCall,
  { call, cached }: { call: LayeredCall<Answer>; cached: CachedCall<Answer> },
): Promise<InferenceResult<Answer>> {
  const key = cached.keyOf(cached.traits.request);
  const entry = await cached.find(key);
  if (entry) return answerFromCache(deps, call, { key, entry });
  const similar = similarCallOf(deps, call, cached);
  const missed = similar ? { ...call, findAnswer: findOnce(deps, call, similar) } : call;
  return cached.controls.write ? runAndStore(run, missed, { key, cached, stored: () => similar?.stored(key) }) : run(missed);
}

/** A call that is made again, because its answer does not match its schema, gets no answer of a similar one. */
function findOnce<Answer>(deps: CachedRunDeps, call: LayeredCall<Answer>, similar: SimilarCall<Answer>): LayeredCall<Answer>["findAnswer"] {
  let isFirst = true;
  return async () => {
    const found = isFirst ? await similar.find() : undefined;
    isFirst = false;
    return found && ((rate) => answerReserved(deps, call, { ...found, rate }));
  };
}

async function runAndStore<Answer>(
  run: RunCall,
  call: LayeredCall<Answer>,
  { key, cached, stored }: { key: string; cached: CachedCall<Answer>; stored: () => void },
): Promise<InferenceResult<Answer>> {
  const { cacheable } = cached;
  const received = new ReceivedParts();
  let answered: Answer | undefined;
  const store = (answer: Answer | undefined, usage: Usage, head: CallHead) => {
    // After a fallback another model has answered: its answer must not stand in for an answer of the requested model.
    if (answer === undefined || head.fallbacks > 0 || !cacheable.isWhole(answer)) return;
    cached.store(key, { answer, usage, deploymentId: head.deploymentId });
    stored();
  };
  const result = await run({
    ...call,
    review: async (answer, bill) => {
      answered = answer;
      return call.review ? call.review(answer, bill) : answer;
    },
    screen: (parts) => (call.screen ?? asTheyAre)(received.listen(parts)),
  });
  // The answer to a similar text is stored already, under the key of that text.
  if (result.head.cacheKey !== undefined) return result;
  if (result.type === "answer") {
    store(answered, result.bill.usage, result.head);
    return result;
  }
  const { head } = result;
  const whenSettled = (usage: Usage) => store(received.parts && cacheable.assemble?.(received.parts), usage, head);
  return { ...result, parts: notingEnd(result.parts, whenSettled) };
}

const asTheyAre: Screen = (parts) => parts;

/** The size of a part beside its text. */
const PART_BYTES = 64;

/** The parts of the successful attempt; undefined when they are too large to store. */
class ReceivedParts {
  parts: StreamPart[] | undefined = [];

  async *listen(source: AsyncIterable<StreamPart>): AsyncGenerator<StreamPart> {
    // Each attempt starts with an empty list.
    this.parts = [];
    let size = 0;
    for await (const part of source) {
      // Parts without text count too: otherwise an endless stream of empty parts would stay in memory.
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

/** Only a stream that ended and was settled is stored. */
async function* notingEnd(parts: DeliveredParts, settled: (usage: Usage) => void): DeliveredParts {
  for await (const part of parts) {
    if (part.type === "settled") settled(part.bill.usage);
    yield part;
  }
}
