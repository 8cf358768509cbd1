import { z } from "zod";
import type { Caller } from "../../../../proto/gen/tributary/access/v1/access.ts";
import { type lenientFields, lenientNumber, lenientText } from "../../../upstream/routing/lenient.ts";

/** What the operator offers. */
export interface SemanticSettings {
  /** False: only organizations that enabled it use it. */
  readonly forAll: boolean;
  readonly threshold: number;
  readonly embeddingModel: string;
}

/** What applies to one call. */
export type SemanticRule = Pick<SemanticSettings, "threshold" | "embeddingModel">;

const THRESHOLD = 0.9;
/** As in LiteLLM. */
const EMBEDDING_MODEL = "text-embedding-ada-002";

const params = z.object({ semantic_cache: lenientText, similarity_threshold: lenientNumber, semantic_cache_embedding_model: lenientText });

/** The semantic half of `cache_params`, as the control plane normalized it; undefined: there is no semantic cache. */
export function compileSemanticSettings(cacheParams: z.infer<typeof lenientFields>): SemanticSettings | undefined {
  const { semantic_cache: mode, similarity_threshold: threshold, semantic_cache_embedding_model: model } = params.parse(cacheParams ?? {});
  if (mode !== "all" && mode !== "opt_in") return undefined;
  return { forAll: mode === "all", threshold: threshold ?? THRESHOLD, embeddingModel: model ?? EMBEDDING_MODEL };
}

/** The caller's organization decides whether, how similar and by which model; what it leaves open is the operator's choice. */
export function semanticRuleOf(settings: SemanticSettings | undefined, { semanticCache: own }: Caller): SemanticRule | undefined {
  if (!settings || !(own?.enabled ?? settings.forAll)) return undefined;
  return { threshold: own?.threshold ?? settings.threshold, embeddingModel: own?.embeddingModel ?? settings.embeddingModel };
}
