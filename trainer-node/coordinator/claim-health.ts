import type { Clock } from "../../common/clock.ts";
import { AppError } from "../../common/errors.ts";
import type { Logger } from "../../common/logger.ts";

/** Tracks whether the coordinator gets work from the control plane. The log and `GET /health` both use it. */
export interface ClaimHealth {
  succeeded(): void;
  failed(thrown: unknown): void;
  check(): HealthReport;
}

/** The body of `GET /health`. */
export type HealthReport =
  | { readonly status: "ok" }
  | { readonly status: "unhealthy"; readonly reason: string; readonly since: string; readonly failedClaims: number };

/** Options of the health of claims. */
export interface ClaimHealthOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  /** The control plane's address, for the log. */
  readonly control: string;
  /** How long claims may fail before `/health` reports it. A control plane that restarts is back sooner. */
  readonly unhealthyMs: number;
}

interface Outage {
  readonly since: number;
  readonly sinceMs: number;
  failures: number;
  reason: string;
  warnedMs: number;
}

/** The first failure is logged at once, later ones at most once a minute with their count, because the coordinator polls twice a second. */
const WARN_EVERY_MS = 60_000;

/** Creates the health of claims. */
export function watchClaims({ clock, logger, control, unhealthyMs }: ClaimHealthOptions): ClaimHealth {
  let outage: Outage | undefined;
  return {
    succeeded: () => {
      if (outage) logger.info({ control, failures: outage.failures }, "the control plane answers claims again");
      outage = undefined;
    },
    failed: (thrown) => {
      const nowMs = clock.monotonicMs();
      const isFirst = outage === undefined;
      outage ??= { since: clock.now(), sinceMs: nowMs, failures: 0, reason: "", warnedMs: nowMs };
      outage.failures += 1;
      outage.reason = thrown instanceof Error ? thrown.message : String(thrown);
      if (!isFirst && nowMs - outage.warnedMs < WARN_EVERY_MS) return;
      outage.warnedMs = nowMs;
      const internal = thrown instanceof AppError ? thrown.internal : undefined;
      logger.warn({ control, failures: outage.failures, error: outage.reason, internal }, "no federation could be claimed");
    },
    check: () => {
      if (!outage || clock.monotonicMs() - outage.sinceMs < unhealthyMs) return { status: "ok" };
      return {
        status: "unhealthy",
        reason: `No federation can be claimed: ${outage.reason} Check that the control plane runs and that CONTROL_ADDRESS is its address.`,
        since: new Date(outage.since).toISOString(),
        failedClaims: outage.failures,
      };
    },
  };
}
