import type { Clock } from "../../../common/clock.ts";
import type { Logger } from "../../../common/logger.ts";
import { type CacheSettings, compileCacheSettings } from "./cache-settings.ts";
import { createMemoryCache } from "./memory-cache.ts";
import { openRedisCache } from "./redis-cache.ts";
import type { ResponseCache } from "./response-cache.ts";
import { createMemoryIndex, type IndexLimits } from "./semantic/memory-index.ts";
import { RecentVectors } from "./semantic/recent-vectors.ts";
import type { VectorIndex } from "./semantic/vector-index.ts";
import { type TolerantCache, tolerant } from "./tolerant-cache.ts";

/** Since the start of this edge. */
export interface CacheFigures {
  hits: number;
  misses: number;
  failures: number;
}

/** The current cache, as settings change. */
export interface CacheLayer {
  update(settingsJson: string): void;
  /** Undefined: answers are not cached. */
  current(): { readonly settings: CacheSettings; readonly cache: TolerantCache } | undefined;
  /** Deletes every cached answer, in this process or in the shared Redis, and every vector. */
  clear(): Promise<void>;
  readonly bytesMax: number;
  readonly figures: CacheFigures;
  /** Vectors of cached requests; they are in this process, also with Redis. */
  readonly semantic: {
    readonly index: VectorIndex;
    readonly recent: RecentVectors;
    readonly figures: CacheFigures;
    /** Embedding models that cannot be used, and why. */
    readonly problems: Map<string, string>;
  };
  close(): Promise<void>;
}

export interface CacheLayerOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  /** The operator's choice by environment variable. */
  readonly chosen: "memory" | "redis" | undefined;
  readonly redisUrl: string | undefined;
  readonly bytesMax: number;
  readonly vectors: IndexLimits;
}

export function createCacheLayer(options: CacheLayerOptions): CacheLayer {
  const figures = { hits: 0, misses: 0, failures: 0 };
  const semantic = {
    index: createMemoryIndex({ clock: options.clock, limits: options.vectors }),
    recent: new RecentVectors(options.clock),
    problems: new Map<string, string>(),
    figures: { hits: 0, misses: 0, failures: 0 },
  };
  const opened = new Map<CacheSettings["type"], TolerantCache>();
  let settings: CacheSettings | undefined;

  function open(type: CacheSettings["type"]): ResponseCache {
    const { clock, logger, redisUrl, bytesMax } = options;
    if (type === "redis" && redisUrl !== undefined) return openRedisCache({ url: redisUrl, logger });
    if (type === "redis") logger.error({}, "the response cache is set to Redis, but REDIS_URL is not set; it uses memory");
    return createMemoryCache({ clock, bytesMax });
  }

  function cacheFor(type: CacheSettings["type"]): TolerantCache {
    const known = opened.get(type);
    if (known) return known;
    const cache = tolerant(open(type), { logger: options.logger, failed: () => void figures.failures++ });
    opened.set(type, cache);
    return cache;
  }

  return {
    update(settingsJson) {
      settings = compileCacheSettings(settingsJson, options.chosen);
      if (settings) cacheFor(settings.type);
    },
    current: () => settings && { settings, cache: cacheFor(settings.type) },
    clear: async () => {
      semantic.index.clear();
      semantic.recent.clear();
      await Promise.all([...opened.values()].map((cache) => cache.clear()));
    },
    bytesMax: options.bytesMax,
    figures,
    semantic,
    close: async () => {
      await Promise.all([...opened.values()].map((cache) => cache.close()));
    },
  };
}
