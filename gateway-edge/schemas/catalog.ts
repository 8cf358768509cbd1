import { z } from "zod";
import { id, instant, name, nanoAmount, paging, plainText, positiveCount, search } from "./fields.ts";
import { listOf, modelRecord, providerRecord } from "./records.ts";

const modelType = z.enum(["chat", "completion", "embedding", "image", "audio_speech", "audio_transcription", "moderation", "rerank"]);

const SORT = /^-?(name|createdAt|created_at|contextWindow|context_window|input|output|price|provider)$/;

export const listModelsQuery = z.object({
  ...paging,
  search: search.optional(),
  type: modelType.optional(),
  provider: id.optional(),
  /** A field, with "-" before it for descending. */
  sort: z
    .string()
    .regex(SORT, "must be name, createdAt, contextWindow, input, output, price or provider, with - before it for descending")
    .transform((sort) => sort.replace("price", "input").replace(/_([a-z])/, (_match, letter: string) => letter.toUpperCase()))
    .optional(),
});
export const listModelsAnswer = listOf(modelRecord);
export const listProvidersAnswer = listOf(providerRecord);

/** Nano-USD per million units. */
const pricing = z.object({
  input: nanoAmount,
  output: nanoAmount,
  cachedInput: nanoAmount.nullish(),
  cacheWrite: nanoAmount.nullish(),
  effectiveAt: instant.nullish(),
});
export type PricingFields = z.output<typeof pricing>;

const modelFields = {
  inferenceModelId: plainText(256),
  pricing,
  contextWindow: positiveCount,
  maxOutputTokens: positiveCount,
  description: plainText(2000),
};
const optionalModelFields = z.object(modelFields).partial();

export const createModelBody = optionalModelFields.extend({
  name: plainText(128),
  provider: id,
  inferenceModelId: modelFields.inferenceModelId,
  type: modelType.default("chat"),
});
export const updateModelBody = optionalModelFields.extend({
  name: plainText(128).optional(),
  status: z.enum(["active", "disabled"]).optional(),
});
export const modelAnswer = z.object({ model: modelRecord });
export const deletedAnswer = z.object({ deleted: z.literal(true), id: z.string() });

const providerFields = {
  baseUrl: z.url({ protocol: /^https?$/, error: "must be an http or https address" }).max(500),
  apiKey: plainText(1000),
};
export const createProviderBody = z.object({ name, kind: plainText(64), ...z.object(providerFields).partial().shape });
export const updateProviderBody = z.object({ name, ...providerFields }).partial();
export const providerAnswer = z.object({ provider: providerRecord });
