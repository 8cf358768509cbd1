import { z } from "zod";
import { FEE_NAMES, type FeeName } from "../../../common/fees.ts";
import { isImagePriceName } from "../../../common/image-prices.ts";
import { PROVIDER_KINDS } from "../../../common/providers/shared/registry.ts";
import { id, instant, name, nanoAmount, paging, plainText, positiveCount, search, searchQuery } from "../fields.ts";
import {
  adminModelRecord,
  adminProviderRecord,
  listedModelRecord,
  listOf,
  modelRecord,
  providerKindRecord,
  providerRecord,
} from "../records.ts";
import { budgetFields } from "./budgets.ts";
import { rateLimitFields } from "./rate-limits.ts";

const modelType = z.enum(["chat", "completion", "embedding", "image", "audio_speech", "audio_transcription", "moderation", "rerank"]);

const SORT = /^-?(name|createdAt|created_at|contextWindow|context_window|input|output|price|provider)$/;

export const listModelsQuery = z.object({
  ...paging,
  search: search.optional(),
  type: modelType.optional(),
  provider: id.optional(),
  /** A field; a leading "-" sorts descending. */
  sort: z
    .string()
    .regex(SORT, "must be name, createdAt, contextWindow, input, output, price or provider, with a leading - for descending order")
    .transform((sort) => sort.replace("price", "input").replace(/_([a-z])/, (_match, letter: string) => letter.toUpperCase()))
    .optional(),
});
export const listModelsAnswer = listOf(modelRecord);
export const listProvidersAnswer = listOf(providerRecord);
export const listProviderKindsAnswer = z.object({ data: z.array(providerKindRecord) });
export const listAdminModelsAnswer = listOf(adminModelRecord);
export const listAdminProvidersAnswer = listOf(adminProviderRecord);

const TIERS_MAX = 8;

type FeeShape = Record<FeeName, z.ZodOptional<z.ZodNullable<typeof nanoAmount>>>;

const prices = {
  input: nanoAmount,
  output: nanoAmount,
  cachedInput: nanoAmount.nullish(),
  cacheWrite: nanoAmount.nullish(),
  cacheWriteHour: nanoAmount.nullish(),
};

/** Prices of the whole call if its input has more than `aboveInputTokens` tokens. */
const tiers = z
  .array(z.object({ aboveInputTokens: positiveCount, ...prices }))
  .max(TIERS_MAX)
  .refine((all) => all.every((tier, index) => index === 0 || tier.aboveInputTokens > (all[index - 1]?.aboveInputTokens ?? 0)), {
    message: "aboveInputTokens must increase from tier to tier",
  });

const IMAGES_MAX = 64;

/** Prices of generated images by size, or by quality and size; other images cost `output`. */
const images = z
  .record(
    z.string().refine(isImagePriceName, { message: "must be a size such as 1024x1792, or a quality and a size such as hd/1024x1792" }),
    nanoAmount,
  )
  .refine((all) => Object.keys(all).length <= IMAGES_MAX, { message: `at most ${IMAGES_MAX} prices` });

/**
 * Nano-USD per million units. `millisecond` means audio duration. Cached, cache write, audio and web search prices are those of a model
 * priced by tokens; `cacheWriteHour` is for cache writes that last an hour, `webSearch` for searches that the provider runs, `fees` for
 * what else it bills beside the tokens: calls that would cause one without a price are refused. `images` is for a model priced by images.
 */
export const pricing = z.object({
  unit: z.enum(["token", "character", "millisecond", "image", "search", "call"]).default("token"),
  ...prices,
  audioInput: nanoAmount.nullish(),
  audioOutput: nanoAmount.nullish(),
  webSearch: nanoAmount.nullish(),
  fees: z.strictObject(Object.fromEntries(FEE_NAMES.map((name) => [name, nanoAmount.nullish()])) as FeeShape).nullish(),
  images: images.nullish(),
  tiers: tiers.nullish(),
  effectiveAt: instant.nullish(),
});
export type PricingFields = z.output<typeof pricing>;

const modelFields = {
  inferenceModelId: plainText(256),
  pricing,
  contextWindow: positiveCount,
  maxOutputTokens: positiveCount,
  description: plainText(2000),
  ...rateLimitFields,
  ...budgetFields,
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
export const modelAnswer = z.object({ model: adminModelRecord });
export const deletedAnswer = z.object({ deleted: z.literal(true), id: z.string() });

const pem = z.string().max(64 * 1024);
const providerFields = {
  baseUrl: z.url({ protocol: /^https?$/, error: "must be an http or https address" }).max(500),
  apiKey: plainText(1000),
  ca: pem.describe(
    "Certificate authorities of the provider's server, in PEM; they replace those that are trusted otherwise. Empty: removed.",
  ),
  clientCertificate: pem.describe("Certificate in PEM that the gateway presents to the provider's server. Empty: removed."),
  clientKey: pem.describe("Private key in PEM of clientCertificate, unencrypted; stored encrypted and never shown. Empty: removed."),
};
const kinds = PROVIDER_KINDS.map(({ kind }) => kind);
const providerKind = z.enum(kinds, { error: `must be one of ${kinds.join(", ")}` });
export const listPricesQuery = searchQuery.extend({ kind: providerKind });
export const listPricesAnswer = listOf(listedModelRecord);
export const createProviderBody = z.object({ name, kind: providerKind, ...z.object(providerFields).partial().shape });
export const updateProviderBody = z.object({ name, ...providerFields }).partial();
export const providerAnswer = z.object({ provider: adminProviderRecord });
