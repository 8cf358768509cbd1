import type { Fields } from "../../upstream/providers/provider.ts";
import { type CacheControls, readCacheControls } from "../cache/cache-controls.ts";
import { cacheKey } from "../cache/cache-key.ts";
import type { CacheLayer } from "../cache/cache-layer.ts";
import type { SemanticSettings } from "../cache/semantic/semantic-settings.ts";
import type { TolerantCache } from "../cache/tolerant-cache.ts";
import type { CacheableTraits, JobTraits } from "../inference/job.ts";
import { providerFields } from "../inference/jobs/gateway-fields.ts";
import type { LayeredCall } from "../inference/run-call.ts";
import type { CacheEntry, HitDeps } from "./cache-hit.ts";
import type { EmbedText } from "./embed-text.ts";

export interface CachedRunDeps extends HitDeps {
  readonly cache: CacheLayer;
  /** For the semantic cache. */
  readonly embed: EmbedText;
}

/** A call whose answer may come from the cache, and may be stored there. */
export interface CachedCall<Answer> {
  readonly traits: JobTraits<Answer>;
  readonly cacheable: CacheableTraits<Answer>;
  readonly controls: CacheControls;
  readonly semantic: SemanticSettings | undefined;
  keyOf(request: Fields): string;
  /** The stored answer that the request accepts; counted as a hit or a miss. */
  find(key: string): Promise<CacheEntry<Answer> | undefined>;
  /** The stored answer of any age; not counted. */
  stored(key: string): Promise<StoredRead<Answer>>;
  /** Whether the answer is not older than the request accepts. */
  isFresh(entry: StoredEntry<Answer>): boolean;
  store(key: string, entry: CacheEntry<Answer>): void;
}

interface StoredEntry<Answer> extends CacheEntry<Answer> {
  readonly storedAt: number;
}

interface StoredRead<Answer> {
  readonly entry: StoredEntry<Answer> | undefined;
  /** The cache could not be read: the answer may be there. */
  readonly isFailed: boolean;
}

/** Undefined: the cache does not apply to the call. */
export function cachedCallOf<Answer>(deps: CachedRunDeps, call: LayeredCall<Answer>): CachedCall<Answer> | undefined {
  const { job, caller } = call;
  const current = deps.cache.current();
  if (!current?.settings.operations.has(job.operation)) return undefined;
  const traits = job.traits?.();
  if (!traits?.cacheable || (job.stream && !traits.cacheable.replay)) return undefined;
  const controls = readCacheControls(traits.request, current.settings);
  const group = deps.routing.groupOf(job.model, caller);
  const { organizationId } = caller;
  const operation = traits.cacheable.dialect ?? job.operation;
  // Versions are part of the key: two versions of a trained model give different answers.
  const versions = deps.routing.candidates(job.model, caller).flatMap(({ id, model }) => (model?.trained ? [id] : []));
  const names = [group?.configuredName ?? job.model, group?.name ?? job.model, ...versions];
  const entries = entryStore<Answer>(current.cache, deps, controls);
  return {
    traits,
    cacheable: traits.cacheable,
    controls,
    semantic: current.settings.semantic,
    keyOf: (request) =>
      cacheKey({ organizationId, operation, group: names, namespace: controls.namespace, fields: providerFields(request) }),
    ...entries,
  };
}

function entryStore<Answer>(cache: TolerantCache, { clock, cache: { figures } }: CachedRunDeps, controls: CacheControls) {
  const stored = async (key: string) => {
    const { value, isFailed } = await cache.read(key);
    return { entry: parsed<Answer>(value), isFailed };
  };
  const isFresh = ({ storedAt }: StoredEntry<Answer>) => controls.ageMsMax === undefined || clock.now() - storedAt <= controls.ageMsMax;
  return {
    stored,
    isFresh,
    async find(key: string): Promise<CacheEntry<Answer> | undefined> {
      if (!controls.read) return undefined;
      const { entry } = await stored(key);
      const isHit = entry && isFresh(entry);
      if (isHit) figures.hits++;
      else figures.misses++;
      return isHit ? entry : undefined;
    },
    store(key: string, entry: CacheEntry<Answer>): void {
      if (!controls.write) return;
      void cache.set(key, JSON.stringify({ ...entry, storedAt: clock.now() }), controls.ttlMs);
    },
  };
}

/** An entry that another program wrote under our key is a miss. */
function parsed<Answer>(text: string | undefined): StoredEntry<Answer> | undefined {
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text) as StoredEntry<Answer>;
  } catch {
    return undefined;
  }
}
