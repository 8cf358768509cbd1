import type { Fields, TokenCounter } from "../../upstream/providers/provider.ts";

/** Settings: no provider gives them to the model to read, however long they are. */
// biome-ignore format: as many as fit
const SETTINGS: ReadonlySet<string> = new Set([
  "model", "stream", "stream_options", "n", "best_of", "seed", "stop", "max_tokens", "max_completion_tokens", "max_output_tokens",
  "temperature", "top_p", "top_k", "min_p", "frequency_penalty", "presence_penalty", "repetition_penalty", "logit_bias", "logprobs",
  "top_logprobs", "echo", "user", "metadata", "store", "background", "include", "truncation", "service_tier", "safety_identifier",
  "prompt_cache_key", "prompt_cache_retention", "modalities", "audio", "parallel_tool_calls", "reasoning_effort", "verbosity",
]);

/** Fields of these sizes together are settings as well: the type of an answer's format, the choice of a tool. */
const SETTINGS_LENGTH_MAX = 256;

/**
 * What a request gives its model to read beside what was counted: the schema of the answer, a prediction, and fields of providers that the gateway does not
 * know. A caller that has its text there would pay, and reserve, for none of it.
 */
export function countOtherFields(body: Fields, counter: TokenCounter, counted: readonly string[]): number {
  const names = Object.keys(body).filter((name) => !SETTINGS.has(name) && !counted.includes(name));
  if (names.length === 0) return 0;
  const text = JSON.stringify(Object.fromEntries(names.map((name) => [name, body[name]])));
  return text.length > SETTINGS_LENGTH_MAX ? counter.countText(text) : 0;
}
