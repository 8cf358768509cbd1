import { z } from "zod";
import type { Operation } from "../../upstream/providers/provider.ts";
import { lenientFields, lenientFlag, lenientNumber, lenientText, lenientTexts, readFields } from "../../upstream/routing/lenient.ts";
import { compileSemanticSettings, type SemanticSettings } from "./semantic/semantic-settings.ts";

export interface CacheSettings {
  readonly type: "memory" | "redis";
  readonly ttlMs: number;
  readonly operations: ReadonlySet<Operation>;
  /** False: only requests that ask for the cache use it. */
  readonly byDefault: boolean;
  /** Undefined: only equal requests are answered from the cache. */
  readonly semantic: SemanticSettings | undefined;
}

const TTL_SECONDS = 600;

const schema = z.object({ cache: lenientFlag, cache_params: lenientFields });
const params = z.object({ type: lenientText, ttl: lenientNumber, mode: lenientText, supported_call_types: lenientTexts });

/** LiteLLM's names of cacheable calls. */
const CALL_TYPES: Readonly<Record<string, Operation>> = {
  completion: "chat",
  text_completion: "completions",
  embedding: "embeddings",
  moderation: "moderations",
};

/** Whether and how answers are cached; undefined: not at all. The environment can enable it where the file does not. */
export function compileCacheSettings(settingsJson: string, chosen: "memory" | "redis" | undefined): CacheSettings | undefined {
  const file = schema.parse(lenientFields.parse(readFields(settingsJson)["litellm_settings"]) ?? {});
  if (chosen === undefined && file.cache !== true) return undefined;
  const { type, ttl, mode, supported_call_types: callTypes } = params.parse(file.cache_params ?? {});
  return {
    type: chosen ?? (type === "redis" ? "redis" : "memory"),
    ttlMs: (ttl ?? TTL_SECONDS) * 1000,
    operations: new Set(callTypes?.flatMap((name) => CALL_TYPES[name.replace(/^a(?=[cetm])/, "")] ?? []) ?? Object.values(CALL_TYPES)),
    byDefault: mode !== "default_off",
    semantic: compileSemanticSettings(file.cache_params),
  };
}
