import type { IncomingMessage, ServerResponse } from "node:http";
import { Counter, Histogram, Registry } from "prom-client";
import type { Clock } from "../../../common/clock.ts";
import { addCounter, addGauge, addProcessMetrics, byLabel, type Sample } from "../../../common/metrics/read-metrics.ts";

/** The Prometheus metrics of an edge. */
export interface Metrics {
  /** For metrics of other parts of the edge. */
  readonly registry: Registry;
  /** Counts a request when its response ends, under the route's template and never under its path. */
  observe(request: IncomingMessage, response: ServerResponse): void;
}

const DURATION_BUCKETS_SECONDS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

export function createMetrics({ clock, edgeIndex }: { clock: Clock; edgeIndex: number }): Metrics {
  const registry = new Registry();
  registry.setDefaultLabels({ edge: String(edgeIndex) });
  addProcessMetrics(registry, "edge");
  const requests = new Counter({
    name: "tributary_http_requests_total",
    help: "Answered HTTP requests.",
    labelNames: ["method", "route", "status"],
    registers: [registry],
  });
  const seconds = new Histogram({
    name: "tributary_http_request_duration_seconds",
    help: "Time from the request's headers to the end of its response.",
    labelNames: ["method", "route"],
    buckets: DURATION_BUCKETS_SECONDS,
    registers: [registry],
  });
  return {
    registry,
    observe: (request, response) => {
      const startedMs = clock.monotonicMs();
      response.on("close", () => {
        const method = METHODS.has(request.method ?? "") ? (request.method ?? "") : "other";
        const route = routeOf(request, response);
        const status = response.writableFinished ? response.statusCode : 499;
        requests.inc({ method, route, status });
        seconds.observe({ method, route }, (clock.monotonicMs() - startedMs) / 1000);
      });
    },
  };
}

/** Figures of the calls, read when metrics are collected. */
export interface CallFigures {
  readonly settledByStatus: Readonly<Record<string, number>>;
  readonly settlementsPending: number;
  readonly callersCached: number;
  readonly connectionWaits: Readonly<Record<"waiting" | "waits" | "waitedMs", number>>;
  readonly upstreamBytesHeld: readonly number[];
  readonly clientBytesQueued: readonly number[];
  readonly cache: Readonly<Record<"hits" | "misses" | "failures", number>>;
  readonly guardrails: Readonly<Record<string, { readonly blocked: number; readonly masked: number }>>;
}

export function addCallFigures({ registry }: Metrics, read: () => CallFigures): void {
  const counter = (name: string, help: string, value: (figures: CallFigures) => number) =>
    addCounter(registry, { name, help, read: () => value(read()) });
  const gauge = (name: string, help: string, value: (figures: CallFigures) => number) =>
    addGauge(registry, { name, help, read: () => value(read()) });
  addCounter(registry, {
    name: "tributary_calls_settled_total",
    help: "Calls that this process submitted for settlement.",
    labelNames: ["status"],
    read: () => byLabel("status", read().settledByStatus),
  });
  gauge("tributary_settlements_pending", "Settlements that the ledger has not confirmed yet.", (figures) => figures.settlementsPending);
  gauge("tributary_callers_cached", "Keys in the access mirror.", (figures) => figures.callersCached);
  gauge(
    "tributary_upstream_calls_waiting",
    "Calls that wait for a connection to their upstream.",
    (figures) => figures.connectionWaits.waiting,
  );
  counter("tributary_upstream_waits_total", "Calls that waited for a connection.", (figures) => figures.connectionWaits.waits);
  counter(
    "tributary_upstream_wait_seconds_total",
    "Total time that calls waited for a connection.",
    (figures) => figures.connectionWaits.waitedMs / 1000,
  );
  gauge(
    "tributary_upstream_held_bytes",
    "Bytes of running answers that have arrived from upstreams and are not processed, as their clients read slowly.",
    (figures) => sum(figures.upstreamBytesHeld),
  );
  gauge("tributary_stream_queued_bytes", "Bytes of streams that wait for their clients to read.", (figures) =>
    sum(figures.clientBytesQueued),
  );
  counter("tributary_cache_hits_total", "Answers given from the response cache.", ({ cache }) => cache.hits);
  counter("tributary_cache_misses_total", "Calls that the response cache had no answer for.", ({ cache }) => cache.misses);
  counter("tributary_cache_failures_total", "Failed commands of the response cache.", ({ cache }) => cache.failures);
  addCounter(registry, {
    name: "tributary_guardrail_findings_total",
    help: "Texts that a guardrail blocked or masked.",
    labelNames: ["guardrail", "action"],
    read: () => Object.entries(read().guardrails).flatMap(([guardrail, { blocked, masked }]) => findings(guardrail, { blocked, masked })),
  });
}

const findings = (guardrail: string, counts: { blocked: number; masked: number }): Sample[] =>
  Object.entries(counts).map(([action, value]) => ({ labels: { guardrail, action }, value }));

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);

const METHODS = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);

function routeOf(request: IncomingMessage, response: ServerResponse): string {
  const { locals } = response as ServerResponse & { locals?: Record<string, unknown> };
  if (typeof locals?.["route"] === "string") return locals["route"];
  const { route, baseUrl } = request as IncomingMessage & { route?: { path: unknown }; baseUrl?: string };
  return route ? `${baseUrl ?? ""}${String(route.path)}` : "none";
}
