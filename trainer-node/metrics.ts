import { Counter, Histogram, Registry } from "prom-client";
import { addGauge } from "../common/metrics/read-metrics.ts";
import type { JobStore } from "./jobs/job-store.ts";
import type { ByteBudget } from "./pool/byte-budget.ts";
import type { ComputePool } from "./pool/pool.ts";

/** The metrics that Prometheus reads at /metrics. */
export interface Metrics {
  countCall(call: { route: string; status: number; seconds: number }): void;
  countBytes(direction: "in" | "out", bytes: number): void;
  text(): Promise<string>;
  readonly contentType: string;
  readonly registry: Registry;
}

/** What the gauges are read from. */
interface NodeFigures {
  readonly pool: Pick<ComputePool, "load">;
  readonly servingPool?: Pick<ComputePool, "load">;
  readonly budget: Pick<ByteBudget, "heldBytes">;
  readonly jobs?: Pick<JobStore, "counts">;
}

const DURATION_BUCKETS_SECONDS = [0.005, 0.02, 0.1, 0.5, 2, 10, 60, 600, 3600];

/** Creates the metrics of one node. */
export function createMetrics({ pool, servingPool, budget, jobs }: NodeFigures): Metrics {
  // The package's shared registry would mix the metrics of two apps in one test process.
  const registers = [new Registry()];
  const [registry] = registers as [Registry];
  const calls = new Counter({ name: "trainer_calls_total", help: "Calls answered.", labelNames: ["route", "status"], registers });
  const seconds = new Histogram({
    name: "trainer_call_seconds",
    help: "From request to answer.",
    labelNames: ["route"],
    buckets: DURATION_BUCKETS_SECONDS,
    registers,
  });
  const bytes = new Counter({
    name: "trainer_body_bytes_total",
    help: "Bytes of request and answer bodies.",
    labelNames: ["direction"],
    registers,
  });
  const pools = Object.entries({ training: pool, serving: servingPool });
  const ofPools = (name: string, help: string, value: (load: ReturnType<ComputePool["load"]>) => number) =>
    addGauge(registry, {
      name,
      help,
      labelNames: ["pool"],
      read: () => pools.flatMap(([label, each]) => (each ? [{ labels: { pool: label }, value: value(each.load()) }] : [])),
    });
  ofPools("trainer_queue_size", "Calls waiting for a thread.", ({ queued }) => queued);
  ofPools("trainer_running", "Calls that have a thread.", ({ running }) => running);
  ofPools("trainer_threads", "Threads of the pool.", ({ threads }) => threads);
  if (jobs) gauge("trainer_jobs_active", "Asynchronous jobs that run or wait.", () => jobs.counts().active);
  gauge("trainer_held_bytes", "Bytes of bodies arriving, queued or running.", () => budget.heldBytes);
  return {
    countCall: (call) => {
      calls.inc({ route: call.route, status: call.status });
      seconds.observe({ route: call.route }, call.seconds);
    },
    countBytes: (direction, count) => bytes.inc({ direction }, count),
    text: () => registry.metrics(),
    contentType: registry.contentType,
    registry,
  };

  function gauge(name: string, help: string, read: () => number): void {
    addGauge(registry, { name, help, read });
  }
}
