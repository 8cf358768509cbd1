import { defined } from "../../common/defined.ts";
import type { RateLimits } from "./records.ts";

/** A requested change: limits to set, and names of limits to remove. */
export interface RateLimitsChange {
  readonly set?: { readonly [Name in keyof RateLimits]?: number | undefined } | undefined;
  readonly clear: readonly string[];
}

/** A record with its limits changed; without a change, the record as it is. */
export function withRateLimits<Limited extends RateLimits>(record: Limited, change: RateLimitsChange | undefined): Limited {
  if (!change) return record;
  const clear = new Set(change.clear);
  const remaining = Object.entries({ ...record, ...rateLimitsOf(change.set ?? {}) }).filter(
    ([name]) => !(isLimit(name) && clear.has(name)),
  );
  return Object.fromEntries(remaining) as unknown as Limited;
}

/** Only the limits of a record. */
export function rateLimitsOf({ rpm, tpm, maxParallelRequests }: { readonly [Name in keyof RateLimits]?: number | undefined }): RateLimits {
  return defined({ rpm, tpm, maxParallelRequests });
}

export function hasLimit(record: RateLimits): boolean {
  return Object.keys(rateLimitsOf(record)).length > 0;
}

function isLimit(name: string): name is keyof RateLimits {
  return name === "rpm" || name === "tpm" || name === "maxParallelRequests";
}
