import type { ReportedUsage } from "../../upstream/providers/provider.ts";
import { asCount, asFields } from "../../upstream/providers/shared/json-fields.ts";

/** Usage as `response.done` reports it; undefined: it reports none. */
export function readRealtimeUsage(value: unknown): ReportedUsage | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const usage = asFields(value);
  const input = asFields(usage["input_token_details"]);
  // Sound in the cache is billed as cached input, so it must not be counted as sound again.
  const cachedAudio = asCount(asFields(input["cached_tokens_details"])["audio_tokens"]);
  return {
    promptTokens: asCount(usage["input_tokens"]),
    cachedTokens: asCount(input["cached_tokens"]),
    cacheWriteTokens: 0,
    completionTokens: asCount(usage["output_tokens"]),
    reasoningTokens: 0,
    audioPromptTokens: Math.max(0, asCount(input["audio_tokens"]) - cachedAudio),
    audioCompletionTokens: asCount(asFields(usage["output_token_details"])["audio_tokens"]),
  };
}
