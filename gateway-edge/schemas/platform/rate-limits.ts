import { z } from "zod";
import { positiveCount } from "../fields.ts";

/** Rate limits of a key, team, organization, user or model. Null removes a limit. */
export const rateLimitFields = {
  rpm: positiveCount.nullish(),
  tpm: positiveCount.nullish(),
  maxParallelRequests: positiveCount.nullish(),
};
export type RateLimitFields = z.output<z.ZodObject<typeof rateLimitFields>>;

const limit = z.int().nullable();
/** Rate limits in a record; null means no limit. */
export const rateLimitRecord = { rpm: limit, tpm: limit, maxParallelRequests: limit };
