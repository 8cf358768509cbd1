import { AppError, type RateState } from "../../common/errors.ts";
import { HeldError } from "./ended-calls.ts";

export const WINDOW_SECONDS = 60;

export type RateKind = "key" | "team" | "organization" | "user" | "model";

/** One limit as a call meets it: whether the call fits now, and what remains after it. */
export interface Reading {
  readonly unit: "requests" | "tokens" | "parallel";
  readonly subject: RateKind;
  readonly most: number;
  /** Zero: the call fits. */
  readonly waitSeconds: number;
  readonly remaining: number;
  /** Absent: another control plane counts it. */
  readonly limit?: string | undefined;
}

/** For each unit the limit with the least remaining, over all subjects. */
export function tightest(readings: readonly Reading[]): RateState {
  const least = (unit: Reading["unit"]) =>
    readings
      .filter((reading) => reading.unit === unit)
      .reduce<Reading | undefined>((found, reading) => (found && found.remaining <= reading.remaining ? found : reading), undefined);
  const [requests, tokens] = [least("requests"), least("tokens")];
  return {
    limitRequests: requests?.most,
    remainingRequests: requests?.remaining,
    limitTokens: tokens?.most,
    remainingTokens: tokens?.remaining,
    resetSeconds: requests || tokens ? WINDOW_SECONDS : 0,
  };
}

export function refusal({ unit, subject, most, waitSeconds, remaining, limit = subject }: Reading, rate: RateState): AppError {
  const what = unit === "parallel" ? `${most} call(s) at once` : `${most} ${unit} per minute`;
  const message = `The ${subject}'s limit of ${what} is reached. Try again in ${waitSeconds} s.`;
  // The headers show the limit that refuses, even if another limit has less remaining.
  const refusing: Partial<RateState> =
    unit === "requests"
      ? { limitRequests: most, remainingRequests: remaining }
      : unit === "tokens"
        ? { limitTokens: most, remainingTokens: remaining }
        : {};
  const options = { retryAfterSeconds: waitSeconds, rate: { ...rate, ...refusing, resetSeconds: waitSeconds } };
  if (unit === "parallel") return new HeldError("RATE_LIMIT_EXCEEDED", message, { ...options, holder: "calls", limit });
  return new AppError("RATE_LIMIT_EXCEEDED", message, options);
}
