import type { Fields, ReportedUsage } from "../provider.ts";
import { asCount, asFields } from "./json-fields.ts";

function audioTokens(audioPromptTokens: number, audioCompletionTokens: number): Partial<ReportedUsage> {
  return audioPromptTokens + audioCompletionTokens > 0 ? { audioPromptTokens, audioCompletionTokens } : {};
}

/**
 * Usage of any server with OpenAI's API, with the other names that are in use for cached tokens. `model` is the answer's: OpenAI's search
 * models search once for each answer and do not report it.
 */
export function readOpenAiUsage(value: unknown, model?: unknown): ReportedUsage | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const usage = asFields(value);
  const prompt = asFields(usage["prompt_tokens_details"] ?? usage["prompt_token_details"]);
  const promptTokens = asCount(usage["prompt_tokens"]);
  const completionTokens = asCount(usage["completion_tokens"]);
  const reasoningTokens = asCount(asFields(usage["completion_tokens_details"])["reasoning_tokens"] ?? usage["reasoning_tokens"]);
  // xAI counts reasoning beside the completion, all others inside; the total shows which.
  const isBeside = reasoningTokens > 0 && asCount(usage["total_tokens"]) === promptTokens + completionTokens + reasoningTokens;
  return {
    promptTokens,
    cachedTokens: asCount(
      prompt["cached_tokens"] ?? usage["prompt_cache_hit_tokens"] ?? usage["num_cached_tokens"] ?? usage["cached_tokens"],
    ),
    cacheWriteTokens: asCount(prompt["cache_write_tokens"]),
    completionTokens: isBeside ? completionTokens + reasoningTokens : completionTokens,
    reasoningTokens,
    ...audioTokens(asCount(prompt["audio_tokens"]), asCount(asFields(usage["completion_tokens_details"])["audio_tokens"])),
    ...searchesOf(usage, model),
  };
}

const SIZES: Readonly<Record<string, "requestLow" | "requestMedium" | "requestHigh">> = {
  low: "requestLow",
  medium: "requestMedium",
  high: "requestHigh",
};

/** Searches under the names of OpenRouter, xAI and Perplexity, and Perplexity's fee for a request by the size of its context. */
function searchesOf(usage: Fields, model: unknown): Pick<ReportedUsage, "amounts"> {
  const said = asFields(usage["server_tool_use"])["web_search_requests"] ?? usage["num_sources_used"] ?? usage["num_search_queries"];
  const size = SIZES[String(usage["search_context_size"])];
  const openAi = typeof model === "string" ? /-search-(preview|api)/.exec(model)?.[1] : undefined;
  if (said === undefined && size === undefined && openAi === undefined) return {};
  const once = { input: 1, output: 0 };
  const searches = asCount(said);
  return {
    amounts: {
      ...(searches !== 0 && { search: { input: searches, output: 0 } }),
      ...(openAi === "api" && { search: once }),
      ...(openAi === "preview" && { webSearchPreview: once }),
      ...(size && { [size]: once }),
    },
  };
}
