import { z } from "zod";
import { instant, paging } from "../fields.ts";
import { listOf, money } from "../records.ts";

const count = z.bigint();

export const verifyLedgerQuery = z.object({
  mode: z.enum(["full", "fast"]).default("full").describe("`fast` begins at the newest checkpoint and takes what was before as right."),
});

export const verifyLedgerAnswer = z.object({
  ok: z.boolean(),
  entries: count,
  sum: z.bigint(),
  lastSeq: count,
  hash: z.string(),
  anchors: count,
  firstBad: z.object({ seq: count, reason: z.string(), kind: z.string(), record: z.string() }).nullable(),
  accounts: count,
  usageRows: count,
  rollups: count,
  /** Where a fast check began; absent if everything was checked. */
  checkpoint: z.object({ number: count, at: z.date() }).optional(),
});

const moment = instant.transform((text) => new Date(text)).meta({ openapi: { type: "string", format: "date-time" } });

export const replayQuery = z.object({ ...paging, asOf: moment.optional(), withPrices: moment.optional() });

const repricing = z.object({
  ...money("charged", "repriced", "difference"),
  repricedCalls: count,
  keptCalls: count,
});

export const organizationReplayRecord = z
  .object({
    organizationId: z.string(),
    name: z.string(),
    ...money("balance"),
    entries: count,
    lastSeq: count,
    repricing: repricing.nullable(),
  })
  .meta({ id: "OrganizationReplay" });

export const replayAnswer = listOf(organizationReplayRecord).extend({
  asOf: z.date(),
  withPrices: z.date().nullable(),
  rollups: z.object({
    equal: z.boolean(),
    firstDifference: z.object({ organizationId: z.string(), rollupId: z.string(), reason: z.string() }).nullable(),
  }),
});

/** The signed content is the line "tributary.receipt.v1" and this record as `canonicalJson`. */
export const receiptRecord = z
  .object({
    callId: z.string(),
    organizationId: z.string(),
    model: z.string(),
    provider: z.string(),
    status: z.string(),
    usage: z.object({
      input: count,
      cachedInput: count,
      cacheWrite: count,
      output: count,
      reasoning: count,
      audio: count,
      total: count,
      source: z.string(),
      /** Cache writes that last an hour, a part of `cacheWrite`. */
      cacheWriteHour: count.optional(),
      /** Output audio tokens, a part of `audio`. */
      audioOutput: count.optional(),
      /** Amounts by character, millisecond, image or search, if the call was counted in one of them. */
      amounts: z.record(z.string(), z.object({ input: count, output: count })).optional(),
      /** Quality and size of the images that the call made. */
      image: z.string().optional(),
    }),
    priceVersion: count,
    prices: z
      .object({
        unit: z.string(),
        input: z.bigint(),
        output: z.bigint(),
        cachedInput: z.bigint().nullable(),
        cacheWrite: z.bigint().nullable(),
        audioInput: z.bigint().nullable(),
        audioOutput: z.bigint().nullable(),
        /** For calls with cache writes that last an hour. */
        cacheWriteHour: z.bigint().optional(),
        /** For calls with web searches that the provider ran. */
        webSearch: z.bigint().optional(),
        /** For calls with other charges beside the tokens. */
        fees: z.record(z.string(), z.bigint()).optional(),
      })
      .nullable(),
    ...money("cost"),
    ledgerSeq: count.nullable(),
    entryHash: z.string().nullable(),
    createdAt: z.string(),
  })
  .meta({ id: "Receipt" });

export const receiptAnswer = z.object({
  receipt: receiptRecord,
  signature: z.string(),
  keyId: z.string(),
  algorithm: z.literal("Ed25519"),
  /** The bill line by line, from usage and prices of the receipt; the cost is their sum, rounded up once. Empty if prices are not known. */
  lines: z.array(
    z.object({ name: z.string(), title: z.string(), amount: count, price: z.bigint(), costUsd: z.string().meta({ description: "Exact" }) }),
  ),
});

export const receiptKeysAnswer = z.object({
  keys: z.array(
    z.object({
      kty: z.literal("OKP"),
      crv: z.literal("Ed25519"),
      use: z.literal("sig"),
      alg: z.literal("EdDSA"),
      kid: z.string(),
      x: z.string(),
      since: z.date(),
    }),
  ),
});
