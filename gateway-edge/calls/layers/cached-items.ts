import { AppError } from "../../../common/errors.ts";
import { NO_USAGE } from "../../credit/pricing/usage.ts";
import type { Fields } from "../../upstream/providers/provider.ts";
import type { ItemsFace } from "../inference/job.ts";
import type { LayeredCall, Run } from "../inference/run.ts";
import type { InferenceResult } from "../inference/run-inference.ts";
import { roughCounter } from "../tokens/tokens.ts";
import { answerFromCache, type Entry, type HitDeps } from "./cache-hit.ts";
import type { Keeping } from "./keeping.ts";

/** A list of like things, each kept by itself: only what is missing is asked for, and only that is paid. */
export async function runItems<Answer>(
  deps: HitDeps & { readonly run: Run },
  call: LayeredCall<Answer>,
  keeping: Keeping<Answer>,
): Promise<InferenceResult<Answer>> {
  const { face, controls } = keeping;
  const items = face.items as ItemsFace<Answer>;
  const places = Array.from({ length: items.count }, (_, place) => place);
  const keys = places.map((place) => keeping.keyOf(requestOf(face.request, place)));
  const found = await Promise.all(keys.map((key) => keeping.find(key)));
  const missing = places.filter((place) => !found[place]);
  const [first] = found;
  if (missing.length === 0 && first) {
    const usage = { ...NO_USAGE, input: call.job.countInput(roughCounter) };
    const answer = items.join(found.map((entry) => (entry as Entry<Answer>).answer));
    return answerFromCache(deps, call, { key: keeping.keyOf(face.request), entry: { answer, usage, deploymentId: first.deploymentId } });
  }
  let said: readonly Answer[] = [];
  const result = await deps.run({
    ...call,
    job: missing.length === items.count ? call.job : items.only(missing),
    review: async (answer, bill) => {
      said = items.split(answer);
      const whole = joined(items, { found, missing, said });
      return call.review ? call.review(whole, bill) : whole;
    },
  });
  if (controls.write && result.head.fallbacks === 0) {
    const { deploymentId } = result.head;
    missing.forEach((place, index) => {
      const answer = said[index];
      if (answer !== undefined) keeping.store(keys[place] ?? "", { answer, usage: NO_USAGE, deploymentId });
    });
  }
  return result;
}

function requestOf(request: Fields, place: number): Fields {
  return { ...request, input: [(request["input"] as readonly unknown[])[place]] };
}

function joined<Answer>(
  items: ItemsFace<Answer>,
  { found, missing, said }: { found: readonly (Entry<Answer> | undefined)[]; missing: readonly number[]; said: readonly Answer[] },
): Answer {
  if (said.length !== missing.length) {
    throw new AppError("UPSTREAM_UNAVAILABLE", "The provider did not answer for every input.", {
      internal: `${said.length} of ${missing.length}`,
    });
  }
  const fresh = new Map(missing.map((place, index) => [place, said[index] as Answer]));
  return items.join(found.map((entry, place) => entry?.answer ?? (fresh.get(place) as Answer)));
}
