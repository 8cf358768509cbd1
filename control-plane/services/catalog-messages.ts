import { findModelData } from "../../common/model-data/model-data.ts";
import { familyOf } from "../../common/model-data/model-families.ts";
import { isProviderKind, type ProviderKindName } from "../../common/model-data/provider-kinds.ts";
import type { Model as ModelMessage, Pricing, Provider as ProviderMessage } from "../../proto/gen/tributary/catalog/v1/catalog.ts";
import { priceAt } from "../domain/pricing.ts";
import { rateLimitsOf } from "../domain/rate-limits.ts";
import type { Model, Price, Provider } from "../domain/records.ts";
import { collect } from "../stores/page.ts";
import type { Reader } from "../stores/store.ts";
import { budgetMessage, date } from "./messages.ts";

const SAMPLING = ["temperature", "top_p", "max_tokens", "max_completion_tokens", "stop", "stream", "stream_options"];
const TOOLS = ["tools", "tool_choice", "parallel_tool_calls", "response_format", "user", "metadata"];
const OPENAI = [...SAMPLING, ...TOOLS, "n", "seed", "frequency_penalty", "presence_penalty", "logprobs", "top_logprobs", "logit_bias"];

/** OpenAI's parameters of chat by kind of provider, for people who choose a model; what a call may send is the adapter's to say. */
const CHAT_PARAMS: Readonly<Record<ProviderKindName, readonly string[]>> = {
  openai: [...OPENAI, "reasoning_effort", "service_tier", "modalities", "audio", "prediction"],
  azure: [...OPENAI, "reasoning_effort"],
  anthropic: [...SAMPLING, ...TOOLS, "reasoning_effort"],
  gemini: [...SAMPLING, ...TOOLS, "n", "seed", "frequency_penalty", "presence_penalty", "reasoning_effort"],
  vertex_ai: [...SAMPLING, ...TOOLS, "n", "seed", "frequency_penalty", "presence_penalty", "reasoning_effort"],
  bedrock: [...SAMPLING, ...TOOLS, "reasoning_effort"],
  cohere: [...SAMPLING, ...TOOLS, "seed", "frequency_penalty", "presence_penalty"],
  mistral: [...SAMPLING, ...TOOLS, "seed", "frequency_penalty", "presence_penalty"],
  groq: [...OPENAI, "reasoning_effort"],
  deepseek: OPENAI,
  together: OPENAI,
  fireworks: OPENAI,
  openrouter: [...OPENAI, "reasoning_effort"],
  xai: [...OPENAI, "reasoning_effort"],
  perplexity: [...SAMPLING, "response_format", "frequency_penalty", "presence_penalty", "web_search_options"],
  ollama: [...SAMPLING, ...TOOLS, "seed", "frequency_penalty"],
  vllm: OPENAI,
  lm_studio: OPENAI,
  llamafile: OPENAI,
  nvidia: OPENAI,
  cerebras: [...OPENAI, "reasoning_effort"],
  openai_compatible: OPENAI,
  tributary: ["max_tokens", "max_completion_tokens", "n", "temperature", "top_p", "seed", "stop", "stream", "stream_options", "user"],
  echo: ["max_tokens", "max_completion_tokens", "n", "stop", "stream", "stream_options", "user", "metadata"],
};

export function supportedParams(kind: string, type: string): readonly string[] {
  if (type === "embedding") return ["dimensions", "encoding_format", "user"];
  return (type === "chat" || type === "completion") && isProviderKind(kind) ? CHAT_PARAMS[kind] : [];
}

export async function modelMessage(reader: Reader, model: Model, now: number): Promise<ModelMessage> {
  const [provider, budget, prices] = await Promise.all([
    reader.get("providers", model.providerId),
    budgetMessage(reader, { kind: "model", id: model.id, record: model, now }),
    collect(reader.scan("prices", { index: "byModel", equals: [model.id] })),
  ]);
  const kind = provider?.kind ?? "";
  return {
    id: model.id,
    name: model.name,
    providerId: model.providerId,
    providerName: provider?.name ?? "",
    type: model.type,
    description: model.description,
    contextWindow: model.contextWindow,
    maxOutputTokens: model.maxOutputTokens,
    pricing: pricingMessage(priceAt(prices, now)),
    capabilities: [...capabilitiesOf(kind, model.inferenceModelId)],
    supportedParams: [...supportedParams(kind, model.type)],
    status: model.status,
    createdAt: date(model.createdAt),
    updatedAt: date(model.updatedAt),
    limits: rateLimitsOf(model),
    budget,
  };
}

export async function providerMessage(reader: Reader, provider: Provider): Promise<ProviderMessage> {
  return {
    id: provider.id,
    name: provider.name,
    kind: provider.kind,
    // The echo provider lives in the edge itself; whether others answer is known once edges report it.
    status: provider.kind === "echo" ? "up" : "unknown",
    modelCount: await reader.count("models", { index: "byProvider", equals: [provider.id] }),
  };
}

function capabilitiesOf(kind: string, inferenceModelId: string): readonly string[] {
  return (findModelData({ kind, model: inferenceModelId }) ?? familyOf(inferenceModelId)).capabilities;
}

export function pricingMessage(price: Price | undefined): Pricing | undefined {
  return (
    price && {
      version: price.version,
      effectiveAt: date(price.effectiveAt),
      unit: price.unit,
      input: price.input,
      output: price.output,
      cachedInput: price.cachedInput,
      cacheWrite: price.cacheWrite,
      audioInput: price.audioInput,
      audioOutput: price.audioOutput,
      tiers: price.tiers && { tiers: [...price.tiers] },
    }
  );
}
