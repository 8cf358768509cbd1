import type { IncomingMessage, ServerResponse } from "node:http";
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import type { Clock } from "../../../common/clock.ts";

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
  collectDefaultMetrics({ register: registry });
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
  new Gauge({
    name: "tributary_calls_settled",
    help: "Calls that this process submitted for settlement, since its start.",
    labelNames: ["status"],
    registers: [registry],
    collect() {
      for (const [status, count] of Object.entries(read().settledByStatus)) this.set({ status }, count);
    },
  });
  const gauge = (name: string, help: string, value: (figures: CallFigures) => number) =>
    new Gauge({
      name,
      help,
      registers: [registry],
      collect() {
        this.set(value(read()));
      },
    });
  gauge("tributary_settlements_pending", "Settlements that the ledger has not confirmed yet.", (figures) => figures.settlementsPending);
  gauge("tributary_callers_cached", "Keys in the access mirror.", (figures) => figures.callersCached);
  gauge(
    "tributary_upstream_calls_waiting",
    "Calls that wait for a connection to their upstream.",
    (figures) => figures.connectionWaits.waiting,
  );
  gauge("tributary_upstream_waits", "Calls that waited for a connection, since the start.", (figures) => figures.connectionWaits.waits);
  gauge(
    "tributary_upstream_wait_seconds",
    "Total time that calls waited for a connection, since the start.",
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
  gauge("tributary_cache_hits", "Answers given from the response cache, since the start.", ({ cache }) => cache.hits);
  gauge("tributary_cache_misses", "Calls that the response cache had no answer for, since the start.", ({ cache }) => cache.misses);
  gauge("tributary_cache_failures", "Failed commands of the response cache, since the start.", ({ cache }) => cache.failures);
  new Gauge({
    name: "tributary_guardrail_findings",
    help: "Texts that a guardrail blocked or masked, since the start.",
    labelNames: ["guardrail", "action"],
    registers: [registry],
    collect() {
      for (const [guardrail, { blocked, masked }] of Object.entries(read().guardrails)) {
        this.set({ guardrail, action: "blocked" }, blocked);
        this.set({ guardrail, action: "masked" }, masked);
      }
    },
  });
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);

const METHODS = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);

function routeOf(request: IncomingMessage, response: ServerResponse): string {
  const { locals } = response as ServerResponse & { locals?: Record<string, unknown> };
  if (typeof locals?.["route"] === "string") return locals["route"];
  const { route, baseUrl } = request as IncomingMessage & { route?: { path: unknown }; baseUrl?: string };
  return route ? `${baseUrl ?? ""}${String(route.path)}` : "none";
}
