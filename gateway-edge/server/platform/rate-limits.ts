import type { RateLimits, RateLimitsChange } from "../../../proto/gen/tributary/rates/v1/rates.ts";
import type { RateLimitFields } from "../../schemas/platform/rate-limits.ts";

const NAMES = ["rpm", "tpm", "maxParallelRequests"] as const;

/** The change of rate limits for the control plane; undefined if the body has no limits. */
export function limitsChange(body: RateLimitFields): RateLimitsChange | undefined {
  if (NAMES.every((name) => body[name] === undefined)) return undefined;
  return { set: limitsOf(body), clear: NAMES.filter((name) => body[name] === null) };
}

export function limitsOf({ rpm, tpm, maxParallelRequests }: RateLimitFields): RateLimits {
  return { rpm: rpm ?? undefined, tpm: tpm ?? undefined, maxParallelRequests: maxParallelRequests ?? undefined };
}

export function presentLimits(limits: RateLimits | undefined): { [Name in (typeof NAMES)[number]]: number | null } {
  return { rpm: limits?.rpm ?? null, tpm: limits?.tpm ?? null, maxParallelRequests: limits?.maxParallelRequests ?? null };
}
