import { AppError } from "../../../common/errors.ts";
import { NO_USAGE } from "../../credit/pricing/usage.ts";
import type { Fields } from "../../upstream/providers/provider.ts";
import type { InferenceResult } from "../inference/inference-call.ts";
import type { BatchTraits } from "../inference/job.ts";
import type { LayeredCall, RunCall } from "../inference/run-call.ts";
import { roughCounter } from "../tokens/tokens.ts";
import { answerFromCache, type CacheEntry, type HitDeps } from "./cache-hit.ts";
import type { CachedCall } from "./cached-call.ts";

/** A list of items, each cached alone: only missing items are requested, and only those are billed. */
export async function runItems<Answer>(
  deps: HitDeps & { readonly run: RunCall },
  call: LayeredCall<Answer>,
  cached: CachedCall<Answer>,
): Promise<InferenceResult<Answer>> {
  const { traits, controls } = cached;
  const batch = traits.batch as BatchTraits<Answer>;
  const places = Array.from({ length: batch.count }, (_, place) => place);
  const keys = places.map((place) => cached.keyOf(requestOf(traits.request, place)));
  const found = await Promise.all(keys.map((key) => cached.find(key)));
  const missing = places.filter((place) => !found[place]);
  const [first] = found;
  if (missing.length === 0 && first) {
    const usage = { ...NO_USAGE, input: call.job.countInput(roughCounter) };
    const answer = batch.join(found.map((entry) => (entry as CacheEntry<Answer>).answer));
    return answerFromCache(deps, call, { key: cached.keyOf(traits.request), entry: { answer, usage, deploymentId: first.deploymentId } });
  }
  let answered: readonly Answer[] = [];
  const result = await deps.run({
    ...call,
    job: missing.length === batch.count ? call.job : batch.only(missing),
    review: async (answer, bill) => {
      answered = batch.split(answer);
      const whole = joined(batch, { found, missing, answered });
      return call.review ? call.review(whole, bill) : whole;
    },
  });
  if (controls.write && result.head.fallbacks === 0) {
    const { deploymentId } = result.head;
    missing.forEach((place, index) => {
      const answer = answered[index];
      if (answer !== undefined) cached.store(keys[place] ?? "", { answer, usage: NO_USAGE, deploymentId });
    });
  }
  return result;
}

function requestOf(request: Fields, place: number): Fields {
  return { ...request, input: [(request["input"] as readonly unknown[])[place]] };
}

function joined<Answer>(
  batch: BatchTraits<Answer>,
  {
    found,
    missing,
    answered,
  }: { found: readonly (CacheEntry<Answer> | undefined)[]; missing: readonly number[]; answered: readonly Answer[] },
): Answer {
  if (answered.length !== missing.length) {
    throw new AppError("UPSTREAM_UNAVAILABLE", "The provider did not answer for every input.", {
      internal: `${answered.length} of ${missing.length}`,
    });
  }
  const fresh = new Map(missing.map((place, index) => [place, answered[index] as Answer]));
  return batch.join(found.map((entry, place) => entry?.answer ?? (fresh.get(place) as Answer)));
}
