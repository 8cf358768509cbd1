import { Counter, type Registry } from "prom-client";
import type { Clock } from "../../common/clock.ts";
import { addGauge } from "../../common/metrics/read-metrics.ts";
import type { ClaimHealth } from "./claim-health.ts";

/** What a coordinator's requests for work are counted with. */
export interface ClaimMetrics {
  /** Counts whether requests for work are answered. */
  watched(health: ClaimHealth): ClaimHealth;
  /** A claim was released, because this coordinator cannot read or copy the blobs of the federation. */
  released(): void;
}

/** Metrics of what a coordinator asks the control plane for. */
export function claimMetrics(registry: Registry, clock: Clock): ClaimMetrics {
  const registers = [registry];
  const requests = new Counter({
    name: "tributary_coordinator_claim_requests_total",
    help: "Requests for work to the control plane: answered, or failed because it did not answer.",
    labelNames: ["outcome"],
    registers,
  });
  const released = new Counter({
    name: "tributary_coordinator_claims_released_total",
    help: "Claims that were released, because this coordinator cannot read or copy the federation's blobs.",
    registers,
  });
  // Present from the start, so that the first failure is an increase.
  for (const outcome of ["answered", "failed"]) requests.inc({ outcome }, 0);
  let answeredMs = clock.monotonicMs();
  addGauge(registry, {
    name: "tributary_coordinator_claim_age_seconds",
    help: "Time since the control plane last answered a request for work; none is sent while this coordinator has enough of it.",
    read: () => (clock.monotonicMs() - answeredMs) / 1000,
  });
  return {
    released: () => released.inc(),
    watched: (health) => ({
      check: health.check,
      succeeded: () => {
        answeredMs = clock.monotonicMs();
        requests.inc({ outcome: "answered" });
        health.succeeded();
      },
      failed: (thrown) => {
        requests.inc({ outcome: "failed" });
        health.failed(thrown);
      },
    }),
  };
}
