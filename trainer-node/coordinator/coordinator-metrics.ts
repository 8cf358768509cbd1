import { Counter, Histogram, Registry } from "prom-client";
import type { Clock } from "../../common/clock.ts";
import { addGauge } from "../../common/metrics/read-metrics.ts";
import { type ClaimMetrics, claimMetrics } from "./claim-metrics.ts";
import type { FederationControl } from "./control.ts";

/** The Prometheus metrics of a coordinator. */
export interface CoordinatorMetrics extends ClaimMetrics {
  readonly registry: Registry;
  /** Federations that this coordinator works on. */
  claims: number;
  /** Counts the rounds and results of one federation under one claim. */
  counted(control: FederationControl): FederationControl;
}

const ROUND_BUCKETS_SECONDS = [0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600, 14_400];

/** Creates the metrics of one coordinator. */
export function createCoordinatorMetrics({ clock }: { clock: Clock }): CoordinatorMetrics {
  const registry = new Registry();
  const registers = [registry];
  const rounds = new Counter({
    name: "tributary_coordinator_rounds_total",
    help: "Rounds that were committed, or failed with their federation.",
    labelNames: ["outcome"],
    registers,
  });
  const results = new Counter({
    name: "tributary_coordinator_updates_total",
    help: "Results of participants in rounds: accepted, failed, or straggler for one that came too late.",
    labelNames: ["state"],
    registers,
  });
  const seconds = new Histogram({
    name: "tributary_coordinator_round_seconds",
    help: "Time from the opening of a round to its commit, in this process.",
    buckets: ROUND_BUCKETS_SECONDS,
    registers,
  });
  // Present from the start, so that the first failure is an increase.
  for (const outcome of ["committed", "failed"]) rounds.inc({ outcome }, 0);
  const metrics: CoordinatorMetrics = {
    registry,
    claims: 0,
    ...claimMetrics(registry, clock),
    counted: (control) => {
      /** The round that is open, and since when. */
      let open: { readonly round: number; readonly sinceMs: number } | undefined;
      return {
        ...control,
        openRound: async (participantIds) => {
          const sinceMs = clock.monotonicMs();
          const opened = await control.openRound(participantIds);
          // Opening is repeated: a step may be done twice, and reads the round again.
          if (open?.round !== opened.round) open = { round: opened.round, sinceMs };
          return opened;
        },
        recordResult: async (round, result) => {
          const recorded = await control.recordResult(round, result);
          results.inc({ state: result.state });
          return recorded;
        },
        commitRound: async (commit) => {
          const committed = await control.commitRound(commit);
          rounds.inc({ outcome: "committed" });
          if (open) seconds.observe((clock.monotonicMs() - open.sinceMs) / 1000);
          open = undefined;
          return committed;
        },
        fail: async (failure) => {
          await control.fail(failure);
          if (open) rounds.inc({ outcome: "failed" });
          open = undefined;
        },
      };
    },
  };
  addGauge(registry, {
    name: "tributary_coordinator_claims",
    help: "Federations that this coordinator has claimed and works on.",
    read: () => metrics.claims,
  });
  return metrics;
}
