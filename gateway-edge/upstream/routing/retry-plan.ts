import { type Random, randomFraction } from "../../../common/random.ts";
import type { ErrorClass } from "./error-class.ts";
import { RETRIES_MAX, type RouterSettings } from "./settings.ts";

export interface RetryAsk {
  readonly kind: ErrorClass;
  readonly groupNames: readonly string[];
  /** Of the request, otherwise of the deployment that failed. */
  readonly ownNumRetries: number | undefined;
}

/** How many retries a group has in total, after this failure. A policy for the class overrides every number. */
export function retriesAllowed({ kind, groupNames, ownNumRetries }: RetryAsk, settings: RouterSettings): number {
  const group = groupNames.find((name) => settings.retryPolicyOfGroup.has(name));
  const ofGroup = group === undefined ? undefined : settings.retryPolicyOfGroup.get(group)?.[kind];
  const byPolicy = ofGroup ?? settings.retryPolicy[kind];
  if (byPolicy !== undefined) return byPolicy;
  return isRetried(kind) ? Math.min(ownNumRetries ?? settings.numRetries, RETRIES_MAX) : 0;
}

function isRetried(kind: ErrorClass): boolean {
  return kind === "timeout" || kind === "rate-limit" || kind === "unavailable" || needsAnother(kind);
}

/** Misconfigured: the same deployment is never tried again within a call. */
export function needsAnother(kind: ErrorClass): boolean {
  return kind === "authentication" || kind === "not-found";
}

const FIRST_MS = 500;
const MOST_MS = 8000;
const UPSTREAM_MS_MAX = 60_000;
const JITTER_MS = 750;

/**
 * How long to wait before the same deployments are tried again; undefined when the upstream's retry-after is longer than a call may wait.
 * Jitter only lengthens an upstream's retry-after, and shortens the gateway's own estimate by up to a half.
 */
export function backOffMs(
  { backOffs, retryAfterSeconds }: { backOffs: number; retryAfterSeconds: number | undefined },
  settings: RouterSettings,
  random: Random,
): number | undefined {
  if (retryAfterSeconds !== undefined && retryAfterSeconds > 0) {
    const askedMs = retryAfterSeconds * 1000;
    return askedMs > UPSTREAM_MS_MAX ? undefined : askedMs + randomFraction(random) * JITTER_MS;
  }
  const guessMs = Math.min(FIRST_MS * 2 ** backOffs, MOST_MS);
  return Math.max(guessMs * (0.5 + randomFraction(random) / 2), settings.retryAfterMs);
}
