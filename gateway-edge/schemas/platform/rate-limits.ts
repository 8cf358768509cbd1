import { z } from "zod";
import { positiveCount } from "../fields.ts";

/** What may be set on a subject of rate limits. Null takes a limit away. */
export const rateLimitFields = {
  rpm: positiveCount.nullish(),
  tpm: positiveCount.nullish(),
  maxParallelRequests: positiveCount.nullish(),
};
export type RateLimitFields = z.output<z.ZodObject<typeof rateLimitFields>>;

const limit = z.int().nullable();
/** The same in a record; null: there is no such limit. */
export const rateLimitRecord = { rpm: limit, tpm: limit, maxParallelRequests: limit };
