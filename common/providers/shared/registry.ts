import { anthropic } from "../anthropic.ts";
import { azure } from "../azure.ts";
import { bedrock } from "../bedrock.ts";
import { cerebras } from "../cerebras.ts";
import { cohere } from "../cohere.ts";
import { deepseek } from "../deepseek.ts";
import { echo } from "../echo.ts";
import { fireworks } from "../fireworks.ts";
import { gemini } from "../gemini.ts";
import { groq } from "../groq.ts";
import { llamafile } from "../llamafile.ts";
import { lmStudio } from "../lm-studio.ts";
import { mistral } from "../mistral.ts";
import { novita } from "../novita.ts";
import { nvidia } from "../nvidia.ts";
import { ollama } from "../ollama.ts";
import { openai } from "../openai.ts";
import { openaiCompatible } from "../openai-compatible.ts";
import { openrouter } from "../openrouter.ts";
import { perplexity } from "../perplexity.ts";
import { together } from "../together.ts";
import { tributary } from "../tributary.ts";
import { vertexAi } from "../vertex-ai.ts";
import { vllm } from "../vllm.ts";
import { xai } from "../xai.ts";
import { paramsOf } from "./params.ts";
import type { ProviderKind } from "./provider-kind.ts";

/** Every provider kind, in the order of all lists. The edges have an adapter for each. */
export const PROVIDER_KINDS: readonly ProviderKind[] = [
  ...[openai, azure, anthropic, gemini, vertexAi, bedrock, cohere, mistral],
  ...[groq, deepseek, together, fireworks, openrouter, xai, perplexity, novita],
  ...[ollama, vllm, lmStudio, llamafile, nvidia, cerebras, openaiCompatible, tributary, echo],
];

const BY_KIND: ReadonlyMap<string, ProviderKind> = new Map(PROVIDER_KINDS.map((each) => [each.kind, each]));
const BY_PREFIX: ReadonlyMap<string, ProviderKind> = new Map(
  PROVIDER_KINDS.flatMap((each) => each.prefixes.map((prefix) => [prefix, each] as const)),
);

export function findKind(kind: string): ProviderKind | undefined {
  return BY_KIND.get(kind);
}

/** The kind that LiteLLM means by this prefix or `custom_llm_provider`. */
export function kindOfPrefix(prefix: string): ProviderKind | undefined {
  return BY_PREFIX.get(prefix.toLowerCase());
}

/** The kind of a model name without a prefix: by its family, else OpenAI. */
export function guessKind(model: string): ProviderKind {
  return PROVIDER_KINDS.find(({ bareNames }) => bareNames?.test(model)) ?? openai;
}

/** What a model of a kind understands in the operation that it is for; nothing where the kind or the operation has no parameters of OpenAI's. */
export function supportedParams(kind: string, { mode, model }: { mode: unknown; model: string }): readonly string[] {
  const found = BY_KIND.get(kind);
  if (!found) return [];
  const has = (operation: "completions" | "embeddings") => found.operations.includes(operation);
  // The gateway itself encodes vectors as they are asked for.
  if (mode === "embedding") return has("embeddings") ? [...new Set([...paramsOf(found, "embeddings")(model), "encoding_format"])] : [];
  if (mode === "completion") return paramsOf(found, has("completions") ? "completions" : "chat")(model);
  return mode === "chat" || mode === null || mode === undefined ? paramsOf(found, "chat")(model) : [];
}
