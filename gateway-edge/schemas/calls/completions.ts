import { z } from "zod";
import { INT32_MAX } from "../fields.ts";
import { parseRequest, type WithoutNulls } from "../request-body.ts";
import { CHOICES_MAX } from "./sizes.ts";
import { timeoutFields } from "./timeout-fields.ts";

const wholeNumber = (min: number, max = Number.MAX_SAFE_INTEGER) =>
  z.number().refine(Number.isInteger, "must be a whole number").min(min).max(max).nullish();
const numberWithin = (min: number, max: number) => z.number().min(min).max(max).nullish();
const tokens = z.array(z.number().refine(Number.isInteger, "must be a whole number").min(0)).min(1);

const PROMPTS_MAX = 128;

/** A legacy completion request. Unlisted fields are passed to the provider unchanged. */
export const completionsRequest = z.looseObject({
  model: z.string().min(1).max(256),
  prompt: z.union([z.string(), z.array(z.string()).min(1).max(PROMPTS_MAX), tokens, z.array(tokens).min(1).max(PROMPTS_MAX)], {
    error: () => "must be a string, an array of strings, an array of tokens or an array of token arrays",
  }),
  suffix: z.string().nullish(),
  max_tokens: wholeNumber(0, INT32_MAX),
  temperature: numberWithin(0, 2),
  top_p: numberWithin(0, 1),
  n: wholeNumber(1, CHOICES_MAX),
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
  logprobs: wholeNumber(0, 5),
  echo: z.boolean().nullish(),
  stop: z.union([z.string(), z.array(z.string()).max(4)], { error: () => "must be a string or an array of at most 4 strings" }).nullish(),
  presence_penalty: numberWithin(-2, 2),
  frequency_penalty: numberWithin(-2, 2),
  best_of: wholeNumber(1, 8),
  logit_bias: z.record(z.string(), z.number().min(-100).max(100)).nullish(),
  user: z.string().nullish(),
  seed: wholeNumber(Number.MIN_SAFE_INTEGER),
  fallbacks: z.array(z.string()).max(5).nullish(),
  num_retries: wholeNumber(0, 10),
  ...timeoutFields,
});

export type CompletionsRequest = WithoutNulls<z.output<typeof completionsRequest>>;

export function parseCompletionsRequest(body: unknown, pathModel?: string): CompletionsRequest {
  return parseRequest(completionsRequest, body, pathModel);
}

/** The number of prompts in a request. */
export function promptCount({ prompt }: CompletionsRequest): number {
  return Array.isArray(prompt) && typeof prompt[0] !== "number" ? prompt.length : 1;
}
