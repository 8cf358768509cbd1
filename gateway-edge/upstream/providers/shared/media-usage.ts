import type { ReportedUsage } from "../provider.ts";
import { asCount, asFields } from "./json-fields.ts";

/** A usage report without tokens. */
export const NOTHING_REPORTED: ReportedUsage = {
  promptTokens: 0,
  cachedTokens: 0,
  cacheWriteTokens: 0,
  completionTokens: 0,
  reasoningTokens: 0,
};

/**
 * The usage of an audio or image answer, in the formats of OpenAI and similar servers: tokens with their kinds, or seconds of audio.
 * Undefined when it reports none.
 */
export function readMediaUsage(answer: unknown): ReportedUsage | undefined {
  const { usage: given, duration } = asFields(answer);
  const usage = asFields(given);
  const milliseconds = millisecondsOf(usage["seconds"] ?? usage["prompt_audio_seconds"] ?? duration);
  const amounts = milliseconds === undefined ? undefined : { millisecond: { input: milliseconds, output: 0 } };
  const tokens = tokensOf(usage);
  if (tokens.promptTokens + tokens.completionTokens === 0 && !amounts) return undefined;
  return { ...tokens, ...(amounts ? { amounts } : {}) };
}

function tokensOf(usage: Readonly<Record<string, unknown>>): ReportedUsage {
  // Transcriptions have input_token_details, images input_tokens_details.
  const input = asFields(usage["input_token_details"] ?? usage["input_tokens_details"] ?? usage["prompt_tokens_details"]);
  const output = asFields(usage["output_token_details"] ?? usage["output_tokens_details"] ?? usage["completion_tokens_details"]);
  return {
    promptTokens: asCount(usage["input_tokens"] ?? usage["prompt_tokens"]),
    cachedTokens: asCount(input["cached_tokens"]),
    cacheWriteTokens: 0,
    audioPromptTokens: asCount(input["audio_tokens"]),
    completionTokens: asCount(usage["output_tokens"] ?? usage["completion_tokens"]),
    reasoningTokens: asCount(output["reasoning_tokens"]),
    audioCompletionTokens: asCount(output["audio_tokens"]),
    ...imageTokens(input["image_tokens"], output["image_tokens"]),
  };
}

function imageTokens(input: unknown, output: unknown): Partial<ReportedUsage> {
  const [imagePromptTokens, imageCompletionTokens] = [asCount(input), asCount(output)];
  return imagePromptTokens + imageCompletionTokens === 0 ? {} : { imagePromptTokens, imageCompletionTokens };
}

/** The usage of an answer that is images: output that it does not divide is all of images. */
export function readImageUsage(answer: unknown): ReportedUsage | undefined {
  const usage = readMediaUsage(answer);
  if (!usage || asFields(asFields(answer)["usage"])["output_tokens_details"] !== undefined) return usage;
  return usage.completionTokens === 0 ? usage : { ...usage, imageCompletionTokens: usage.completionTokens };
}

/** Seconds, as numbers or as text. Rounded up: a price is for each begun unit. */
function millisecondsOf(seconds: unknown): number | undefined {
  const value = typeof seconds === "string" ? Number(seconds) : seconds;
  if (typeof value !== "number" || !Number.isFinite(value) || value < 0) return undefined;
  return Math.ceil(Number((value * 1000).toFixed(3)));
}
