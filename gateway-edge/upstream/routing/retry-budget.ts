import type { Clock } from "../../../common/clock.ts";
import { RollingCount } from "./rolling-count.ts";

export interface RetryBudgetSettings {
  /** Off: each call uses its configured retries, whatever the others do. */
  readonly enabled: boolean;
  /** Retries as a share of the first attempts of the window. */
  readonly share: number;
  /** Retries per second that are always allowed, so that at low traffic a call has all of its own. */
  readonly floorPerSecond: number;
}

/**
 * How much retries may add to the traffic of one model group. Two limits apply together: a call never makes more attempts than its settings
 * say (exact, in route-run.ts), and all calls together never retry more than max(share × first attempts, floor) in any ten seconds. In an
 * outage the second limits upstream calls to 1.1 × the requests; the first applies even when it is off.
 */
export interface RetryBudget {
  /** A first attempt in the group. */
  request(): void;
  /** Takes one retry if there is one. */
  takeRetry(): boolean;
}

const BUCKET_MS = 1000;
const BUCKETS = 10;

export function createRetryBudget(clock: Clock, settings: RetryBudgetSettings): RetryBudget {
  const requests = new RollingCount({ bucketMs: BUCKET_MS, buckets: BUCKETS });
  const retries = new RollingCount({ bucketMs: BUCKET_MS, buckets: BUCKETS });
  const floor = (settings.floorPerSecond * BUCKET_MS * BUCKETS) / 1000;
  return {
    request: () => requests.add(clock.monotonicMs()),
    takeRetry() {
      const nowMs = clock.monotonicMs();
      const allowed = Math.max(settings.share * requests.sum(nowMs), floor);
      if (settings.enabled && retries.sum(nowMs) + 1 > allowed) return false;
      retries.add(nowMs);
      return true;
    },
  };
}
