import { Counter, collectDefaultMetrics, Gauge, type Metric, type Registry } from "prom-client";
import { VERSION } from "../version.ts";
import type { Buckets } from "./buckets.ts";

/** What a process is, as `tributary_build_info` names it. */
export type Role = "edge" | "control-plane" | "trainer" | "coordinator";

/** One value of a metric with labels. */
export interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** A metric whose values the process keeps anyway; they are read when metrics are collected, and cost nothing before. */
export interface ReadMetric {
  readonly name: string;
  readonly help: string;
  /** Names of the samples' labels. Their values are a small fixed set: no key, organization or text of a caller. */
  readonly labelNames?: readonly string[];
  read(): Read | Promise<Read>;
}

type Read = number | readonly Sample[];

/** A count since the start of the process; its name ends in `_total`. */
export function addCounter(registry: Registry, { name, help, labelNames = [], read }: ReadMetric): void {
  new Counter({
    name,
    help,
    labelNames: [...labelNames],
    registers: [registry],
    async collect() {
      const samples = samplesOf(await read());
      this.reset();
      for (const { labels, value } of samples) this.inc({ ...labels }, value);
    },
  });
}

/** A value that rises and falls. */
export function addGauge(registry: Registry, { name, help, labelNames = [], read }: ReadMetric): void {
  new Gauge({
    name,
    help,
    labelNames: [...labelNames],
    registers: [registry],
    async collect() {
      const samples = samplesOf(await read());
      this.reset();
      for (const { labels, value } of samples) this.set({ ...labels }, value);
    },
  });
}

/** Observations of a histogram with labels. */
export interface BucketsSample {
  readonly labels: Readonly<Record<string, string>>;
  readonly buckets: Buckets;
}

/** A histogram whose buckets the process keeps itself; all samples have the same bounds. */
export function addHistogram(
  registry: Registry,
  { name, help, read }: Omit<ReadMetric, "read" | "labelNames"> & { read(): readonly BucketsSample[] },
): void {
  const get = async () => ({
    name,
    help,
    type: "histogram",
    aggregator: "sum",
    values: read().flatMap((sample) => bucketValues(name, sample)),
  });
  // The library's own histogram can only be observed; a registry needs no more of a metric than this.
  registry.registerMetric({ name, get } as unknown as Metric);
}

function bucketValues(name: string, { labels, buckets }: BucketsSample) {
  const cumulative = buckets.cumulative();
  return [
    ...cumulative.map(({ le, value }) => ({ metricName: `${name}_bucket`, labels: { ...labels, le }, value })),
    { metricName: `${name}_sum`, labels, value: buckets.sum },
    { metricName: `${name}_count`, labels, value: cumulative.at(-1)?.value ?? 0 },
  ];
}

const samplesOf = (read: Read): readonly Sample[] => (typeof read === "number" ? [{ labels: {}, value: read }] : read);

/** Samples of a metric with one label. */
export const byLabel = (name: string, values: Readonly<Record<string, number>>): Sample[] =>
  Object.entries(values).map(([label, value]) => ({ labels: { [name]: label }, value }));

/** Gauges of the library whose names end like those of counters; promtool complains about them. */
const MISNAMED = ["nodejs_active_handles_total", "nodejs_active_requests_total", "nodejs_active_resources_total"];

/** How often the delay of the event loop is sampled, and its least value. By default it is 10 ms, and the hundred wake-ups a second are most of what an idle process does. */
const LAG_SAMPLE_MS = 50;

/** Adds what every process has: version, start, CPU, memory, event loop, garbage collection. Once for each process, because it observes. */
export function addProcessMetrics(registry: Registry, role: Role): void {
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: LAG_SAMPLE_MS });
  for (const name of MISNAMED) registry.removeSingleMetric(name);
  addGauge(registry, {
    name: "tributary_build_info",
    help: "1, with the version and the role of this process.",
    labelNames: ["version", "role"],
    read: () => [{ labels: { version: VERSION, role }, value: 1 }],
  });
}
