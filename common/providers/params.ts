import { isProviderKind, type ProviderKindName } from "../model-data/provider-kinds.ts";
import { COMPATIBLE_FAMILIES } from "./compatible-families.ts";
import {
  anthropicParams,
  bedrockParams,
  cohereEmbeddingParams,
  cohereParams,
  ECHO_PARAMS,
  GEMINI_EMBEDDING_PARAMS,
  geminiParams,
  MISTRAL_PARAMS,
  OLLAMA_EMBEDDING_PARAMS,
  OLLAMA_PARAMS,
  USUAL_EMBEDDING_PARAMS,
} from "./dialect-params.ts";
import { AZURE_CHAT_FAMILIES, CHAT_FAMILIES, EMBEDDING_FAMILIES, familyOf, type ModelFamily } from "./openai-families.ts";

/** OpenAI's names of the parameters that a model understands, by its provider's name of it. */
export type ParamsOf = (inferenceModelId: string) => readonly string[];

/** What the models of one kind of provider understand. An operation that is absent is not offered by the kind. */
export interface KindParams {
  readonly chat: ParamsOf;
  readonly completions?: ParamsOf;
  readonly embeddings?: ParamsOf;
}

const COMPLETION_PARAMS =
  "best_of echo frequency_penalty logit_bias logprobs max_tokens n presence_penalty seed stop stream stream_options suffix temperature top_p user".split(
    " ",
  );
const completions: ParamsOf = () => COMPLETION_PARAMS;
const embeddings: ParamsOf = () => USUAL_EMBEDDING_PARAMS;

export const MISTRAL_FAMILIES: readonly ModelFamily[] = [
  { models: /^(magistral|mistral-(small|medium)-latest)/, params: [...MISTRAL_PARAMS, "reasoning_effort"], limitField: "max_tokens" },
  { models: /.*/, params: MISTRAL_PARAMS, limitField: "max_tokens" },
];
const MISTRAL_EMBEDDINGS: readonly ModelFamily[] = [
  { models: /^codestral-embed/, params: ["dimensions"] },
  { models: /.*/, params: [] },
];

/** The one table of parameters: adapters refuse and drop by it, and every list of models shows it. */
export const PROVIDER_PARAMS = {
  openai: { chat: byFamily(CHAT_FAMILIES), completions, embeddings: byFamily(EMBEDDING_FAMILIES) },
  azure: { chat: byFamily(AZURE_CHAT_FAMILIES), completions, embeddings: byFamily(EMBEDDING_FAMILIES) },
  anthropic: { chat: anthropicParams },
  gemini: { chat: geminiParams, embeddings: () => GEMINI_EMBEDDING_PARAMS },
  vertex_ai: { chat: geminiParams, embeddings: () => GEMINI_EMBEDDING_PARAMS },
  bedrock: { chat: bedrockParams },
  cohere: { chat: cohereParams, embeddings: cohereEmbeddingParams },
  mistral: { chat: byFamily(MISTRAL_FAMILIES), embeddings: byFamily(MISTRAL_EMBEDDINGS) },
  groq: { chat: compatible("groq") },
  deepseek: { chat: compatible("deepseek") },
  together: { chat: compatible("together"), completions, embeddings },
  fireworks: { chat: compatible("fireworks"), completions, embeddings },
  openrouter: { chat: compatible("openrouter"), completions, embeddings },
  xai: { chat: compatible("xai") },
  perplexity: { chat: compatible("perplexity") },
  ollama: { chat: () => OLLAMA_PARAMS, embeddings: () => OLLAMA_EMBEDDING_PARAMS },
  vllm: { chat: compatible("vllm"), completions, embeddings },
  lm_studio: { chat: compatible("lm_studio"), completions, embeddings },
  llamafile: { chat: compatible("llamafile"), completions, embeddings },
  nvidia: { chat: compatible("nvidia"), completions, embeddings },
  cerebras: { chat: compatible("cerebras"), completions },
  openai_compatible: { chat: compatible("openai_compatible"), completions, embeddings },
  tributary: { chat: compatible("tributary"), completions, embeddings },
  echo: { chat: () => ECHO_PARAMS, embeddings },
} as const satisfies Readonly<Record<ProviderKindName, KindParams>>;

/** What a model of a kind understands in the operation that it is for; nothing where the kind or the operation has no parameters of OpenAI's. */
export function supportedParams(kind: string, { mode, model }: { mode: unknown; model: string }): readonly string[] {
  if (!isProviderKind(kind)) return [];
  const params: KindParams = PROVIDER_PARAMS[kind];
  // The gateway itself encodes vectors as they are asked for.
  if (mode === "embedding") return params.embeddings ? [...new Set([...params.embeddings(model), "encoding_format"])] : [];
  if (mode === "completion") return (params.completions ?? params.chat)(model);
  return mode === "chat" || mode === null || mode === undefined ? params.chat(model) : [];
}

function byFamily(families: readonly ModelFamily[]): ParamsOf {
  return (model) => familyOf(families, model)?.params ?? [];
}

function compatible(kind: keyof typeof COMPATIBLE_FAMILIES): ParamsOf {
  return byFamily(COMPATIBLE_FAMILIES[kind]);
}
