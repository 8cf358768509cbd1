import type { ReportedUsage } from "../provider.ts";
import { asCount, asFields } from "./json-fields.ts";

function audioTokens(audioPromptTokens: number, audioCompletionTokens: number): Partial<ReportedUsage> {
  return audioPromptTokens + audioCompletionTokens > 0 ? { audioPromptTokens, audioCompletionTokens } : {};
}

/** Usage of any server with OpenAI's API, with the other names that are in use for cached tokens. */
export function readOpenAiUsage(value: unknown): ReportedUsage | undefined {
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
  };
}
