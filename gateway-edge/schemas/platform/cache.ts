import { z } from "zod";
import { plainText } from "../fields.ts";

const type = z.enum(["memory", "redis"]);
/** off; opt_in: organizations turn it on; all: they may turn it off. */
const semanticMode = z.enum(["off", "opt_in", "all"]);
const TTL_SECONDS_MAX = 31_536_000;

const ttlSeconds = z.number().min(1).max(TTL_SECONDS_MAX);
const threshold = z.number().gt(0, "must be above 0 and at most 1").max(1, "must be above 0 and at most 1");

/** Null: the default applies. */
const fields = {
  enabled: z.boolean(),
  type: type.nullable(),
  ttlSeconds: ttlSeconds.nullable(),
  /** False: only requests that ask for the cache use it. */
  byDefault: z.boolean().nullable(),
  semantic: z.object({ mode: semanticMode, threshold: threshold.nullable(), embeddingModel: z.string().nullable() }),
};

export const configuredCacheRecord = z
  .object({
    ...fields,
    /** configuration: the file sets it, and it can be changed only there. default: nothing is set. */
    source: z.enum(["configuration", "catalog", "default"]),
    file: z.string().nullable(),
    /** The edge's environment variable CACHE, which turns the cache on whatever else is set. */
    environment: type.nullable(),
  })
  .meta({ id: "ConfiguredCache" });
export type ConfiguredCache = z.infer<typeof configuredCacheRecord>;

/** Replaces what is stored; a field that is absent or null has its default. */
export const updateCacheBody = z.object({
  enabled: z.boolean(),
  type: type.nullish(),
  ttlSeconds: ttlSeconds.nullish(),
  byDefault: z.boolean().nullish(),
  semantic: z.object({ mode: semanticMode, threshold: threshold.nullish(), embeddingModel: plainText(200).nullish() }).nullish(),
});
export type UpdateCacheBody = z.output<typeof updateCacheBody>;
export const updateCacheAnswer = z.object({ configured: configuredCacheRecord });
