import { z } from "zod";
import { AppError } from "../../../common/errors.ts";
import { parseRequest, type WithoutNulls } from "../request-body.ts";
import { timeoutFields } from "./timeout-fields.ts";

const INPUTS_MAX = 2048;

const tokens = z.array(z.number().refine(Number.isInteger, "must be a whole number").min(0));

/** An embeddings request: a string, strings, a token array, or token arrays. */
export const embeddingsRequest = z.looseObject({
  model: z.string().min(1).max(256),
  input: z
    .union([z.string(), z.array(z.string()), tokens, z.array(tokens)], {
      error: () => "must be a string, an array of strings, an array of tokens or an array of token arrays",
    })
    .default([]),
  encoding_format: z.enum(["float", "base64"]).nullish(),
  dimensions: z.number().refine(Number.isInteger, "must be a whole number").min(1).nullish(),
  user: z.string().nullish(),
  ...timeoutFields,
  caching: z.boolean().nullish(),
});

export type EmbeddingsRequest = WithoutNulls<z.output<typeof embeddingsRequest>>;

/** The input, always as a list. */
export type EmbeddingsInput = readonly string[] | readonly (readonly number[])[];

export function parseEmbeddingsRequest(body: unknown, pathModel?: string): { request: EmbeddingsRequest; input: EmbeddingsInput } {
  const request = parseRequest(embeddingsRequest, body, pathModel);
  return { request, input: inputOf(request) };
}

function inputOf({ input }: EmbeddingsRequest): EmbeddingsInput {
  const list = typeof input === "string" ? [input] : isTokens(input) ? [input] : (input as EmbeddingsInput);
  if (list.length === 0) throw refuse("must not be empty");
  if (list.length > INPUTS_MAX) throw refuse(`must have at most ${INPUTS_MAX} entries`);
  if (list.some((entry) => entry.length === 0)) throw refuse("must not contain an empty entry");
  return list as EmbeddingsInput;
}

function isTokens(input: readonly unknown[]): input is readonly number[] {
  return typeof input[0] === "number";
}

function refuse(message: string): AppError {
  return new AppError("INVALID_REQUEST", `input: ${message}`, { param: "input" });
}
