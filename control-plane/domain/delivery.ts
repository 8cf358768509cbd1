import type { Delivery } from "./webhook-records.ts";

/** What one delivery attempt came to: an HTTP status, or why there was none. */
export type AttemptOutcome = { kind: "answered"; status: number } | { kind: "failed"; reason: string };

const FIRST_DELAY_MS = 5000;
const DELAY_MS_MAX = 4 * 3_600_000;
/** No attempt is made later than this after the delivery was created. */
const GIVE_UP_MS = 24 * 3_600_000;
const GONE = 410;

/** The delivery after an attempt: delivered, due again, or failed. `chance` (0 to 1) is jitter, so that retries do not come at once. */
export function afterAttempt(delivery: Delivery, outcome: AttemptOutcome, { now, chance }: { now: number; chance: number }): Delivery {
  const { dueAt: _due, error: _error, httpStatus: _status, ...rest } = delivery;
  const tried = {
    ...rest,
    attempts: delivery.attempts + 1,
    ...(outcome.kind === "answered" ? { httpStatus: outcome.status } : {}),
  };
  if (outcome.kind === "answered" && isSuccess(outcome.status)) return { ...tried, status: "delivered", deliveredAt: now };
  const error = outcome.kind === "answered" ? refusal(outcome.status) : outcome.reason;
  const dueAt = now + retryDelayMs(tried.attempts, chance);
  const isGone = outcome.kind === "answered" && outcome.status === GONE;
  if (isGone || dueAt > delivery.createdAt + GIVE_UP_MS) return { ...tried, status: "failed", error };
  return { ...tried, status: "pending", error, dueAt };
}

/** 5 s, 20 s, 80 s, ... up to four hours, plus up to 20 % jitter. */
export function retryDelayMs(attempts: number, chance: number): number {
  const base = Math.min(FIRST_DELAY_MS * 4 ** (attempts - 1), DELAY_MS_MAX);
  return Math.round(base * (1 + chance / 5));
}

const isSuccess = (status: number): boolean => status >= 200 && status < 300;

function refusal(status: number): string {
  return status >= 300 && status < 400 ? `answered ${status}; redirects are not followed` : `answered ${status}`;
}
