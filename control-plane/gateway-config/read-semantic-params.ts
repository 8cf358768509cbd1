import type { ConfigIssues, LocatedMap, SourcePosition } from "./located.ts";
import type { ValueType } from "./value-types.ts";

/** Types of LiteLLM's semantic caches, with the place of the answers here. The vectors are in the memory of each edge. */
export const SEMANTIC_TYPES: Readonly<Record<string, string>> = { "redis-semantic": "redis", "qdrant-semantic": "local" };

const MODEL = "semantic_cache_embedding_model";
const MODELS_OF_LITELLM: readonly string[] = ["redis_semantic_cache_embedding_model", "qdrant_semantic_cache_embedding_model"];
const MODES: readonly string[] = ["off", "opt_in", "all"];

export const SEMANTIC_PARAMS: Readonly<Record<string, ValueType>> = {
  semantic_cache: "text",
  similarity_threshold: "number",
  [MODEL]: "text",
  ...Object.fromEntries(MODELS_OF_LITELLM.map((name) => [name, "text" as const])),
};

const WHERE = "litellm_settings.cache_params";

/** Turns LiteLLM's semantic types and its names of the embedding model into ours, which edges read. */
export function readSemanticParams(node: LocatedMap, read: Record<string, unknown>, issues: ConfigIssues): void {
  const at = (name: string) => node.entries.get(name)?.node.at ?? node.at;
  for (const name of MODELS_OF_LITELLM) {
    if (read[name] !== undefined) read[MODEL] ??= read[name];
    delete read[name];
  }
  const type = String(read["type"]);
  const answers = Object.hasOwn(SEMANTIC_TYPES, type) ? SEMANTIC_TYPES[type] : undefined;
  if (answers !== undefined) {
    read["type"] = answers;
    read["semantic_cache"] ??= "all";
    const place = answers === "redis" ? "in the Redis of REDIS_URL" : "in memory";
    issues.warn(at("type"), `a cache of the type ${type} has its answers ${place} and its vectors in the memory of each edge`);
  }
  checkSemantic(at, read, issues);
}

function checkSemantic(at: (name: string) => SourcePosition, read: Readonly<Record<string, unknown>>, issues: ConfigIssues): void {
  const { semantic_cache: mode, similarity_threshold: threshold } = read;
  if (mode !== undefined && !MODES.includes(String(mode))) {
    issues.problem(at("semantic_cache"), `${WHERE}.semantic_cache must be one of ${MODES.join(", ")}`);
  }
  if (threshold !== undefined && !(Number(threshold) > 0 && Number(threshold) <= 1)) {
    issues.problem(at("similarity_threshold"), `${WHERE}.similarity_threshold must be above 0 and at most 1`);
  }
  const [given] = ["similarity_threshold", MODEL].filter((name) => read[name] !== undefined);
  if (given && mode === undefined) issues.warn(at(given), `${WHERE}.semantic_cache is not set, so there is no semantic cache`);
}
