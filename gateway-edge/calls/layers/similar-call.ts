import { unit } from "../../../common/vectors.ts";
import { comparedText } from "../cache/semantic/compared-text.ts";
import { semanticRuleOf } from "../cache/semantic/semantic-settings.ts";
import type { VectorPlace } from "../cache/semantic/vector-index.ts";
import type { LayeredCall } from "../inference/run-call.ts";
import type { CachedAnswer } from "./cache-hit.ts";
import type { CachedCall, CachedRunDeps } from "./cached-call.ts";

/** A call without an exact hit whose last text is compared with those of earlier calls. */
export interface SimilarCall<Answer> {
  /** The answer to the most similar text, if it is similar enough. Makes a billed call for the vector, unless the text had one lately. */
  find(): Promise<CachedAnswer<Answer> | undefined>;
  /** The call's own answer is cached under the key, and from now on found by its text. */
  stored(key: string): void;
}

/** Answers that the response cache has dropped are passed over this many times. */
const DROPPED_MAX = 4;

/** Undefined: texts of the call are not compared. */
export function similarCallOf<Answer>(
  deps: Pick<CachedRunDeps, "cache" | "embed">,
  call: LayeredCall<Answer>,
  cached: CachedCall<Answer>,
): SimilarCall<Answer> | undefined {
  const { semantic } = deps.cache;
  const { caller, job } = call;
  const rule = semanticRuleOf(cached.semantic, caller);
  if (!rule || !cached.controls.read || job.operation !== "chat") return undefined;
  const compared = comparedText(cached.traits.request);
  if (!compared) return undefined;
  const { threshold, embeddingModel } = rule;
  const scope = `${cached.keyOf(compared.rest)} ${embeddingModel}`;
  const place: VectorPlace = { organizationId: caller.organizationId, scope };
  let vector: Float32Array | undefined;
  return {
    async find() {
      vector = await vectorOf(compared.text);
      if (!vector) {
        semantic.figures.failures++;
        return undefined;
      }
      const found = await nearest(vector);
      if (found) semantic.figures.hits++;
      else semantic.figures.misses++;
      return found;
    },
    stored(key) {
      if (vector) semantic.index.add(place, vector, { key, ttlMs: cached.controls.ttlMs });
    },
  };

  async function vectorOf(text: string): Promise<Float32Array | undefined> {
    const of = { organizationId: caller.organizationId, model: embeddingModel, text };
    const recent = semantic.recent.get(of);
    if (recent) return recent;
    const { callId, signal } = call;
    const numbers = await deps.embed({ model: embeddingModel, text }, { callId, caller, signal });
    const made = numbers && unit(numbers);
    if (made) semantic.recent.set(of, made);
    return made;
  }

  async function nearest(wanted: Float32Array): Promise<CachedAnswer<Answer> | undefined> {
    for (let dropped = 0; dropped < DROPPED_MAX; dropped++) {
      const found = semantic.index.nearest(place, wanted);
      if (!found || found.similarity < threshold) return undefined;
      const { key, similarity } = found;
      const { entry, isFailed } = await cached.stored(key);
      if (entry || isFailed) return entry && cached.isFresh(entry) ? { key, entry, similarity } : undefined;
      semantic.index.remove(place, key);
    }
    return undefined;
  }
}
