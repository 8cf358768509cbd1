import { Registry } from "prom-client";
import type { Clock } from "../../../common/clock.ts";
import { addCounter, addGauge, addHistogram, addProcessMetrics, type Sample } from "../../../common/metrics/read-metrics.ts";
import type { CallSlot } from "../../calls/call-counts.ts";
import type { CallRequest, CallResponse } from "../../calls/http-exchange.ts";
import type { JournalFigures } from "../../credit/journal/journal.ts";
import type { LeaseFigures } from "../../credit/lease-book.ts";
import type { AccessLog } from "../middleware/access-log.ts";
import type { OverloadFigures } from "../overload/overload-gate.ts";
import { addCallMetrics } from "./call-metrics.ts";
import { RequestCounts } from "./request-counts.ts";

/** The Prometheus metrics of an edge. */
export interface Metrics {
  /** For metrics of other parts of the edge. */
  readonly registry: Registry;
  /** Adds what every process has, once. From then on the event loop is sampled, which is half of the wake-ups of an idle edge, so it waits for the first reader. */
  addProcess(): void;
  /** Counts a request when its response ends, under the route's template and never under its path, and writes its line in the log. */
  observe(request: CallRequest, response: CallResponse): void;
}

interface MetricsDeps {
  readonly clock: Clock;
  readonly edgeIndex: number;
  /** Absent: requests are not logged. */
  readonly accessLog?: AccessLog | undefined;
}

export function createMetrics({ clock, edgeIndex, accessLog }: MetricsDeps): Metrics {
  const registry = new Registry();
  registry.setDefaultLabels({ edge: String(edgeIndex) });
  let hasProcess = false;
  const addProcess = () => {
    if (!hasProcess) addProcessMetrics(registry, "edge");
    hasProcess = true;
  };
  const requests = new RequestCounts();
  addCounter(registry, {
    name: "tributary_http_requests_total",
    help: "Answered HTTP requests.",
    labelNames: ["method", "route", "status"],
    read: () =>
      requests.slots.map(({ method, route, status, count }) => ({ labels: { method, route, status: String(status) }, value: count })),
  });
  addHistogram(registry, {
    name: "tributary_http_request_duration_seconds",
    help: "Time from the request's headers to the end of its response, by family of routes.",
    read: () => [...requests.seconds].map(([family, buckets]) => ({ labels: { family }, buckets })),
  });
  if (accessLog) {
    const help = "Requests without a line in the log, because of ACCESS_LOG.";
    addCounter(registry, { name: "tributary_access_lines_left_out_total", help, read: () => accessLog.leftOut() });
  }
  return {
    registry,
    addProcess,
    observe: (request, response) => {
      const startedMs = clock.monotonicMs();
      response.on("close", () => {
        const status = response.writableFinished ? response.statusCode : 499;
        const { method } = request;
        const [route, durationMs] = [routeOf(request, response), clock.monotonicMs() - startedMs];
        requests.count({ route, method }, status, durationMs / 1000);
        accessLog?.answered(request, response, { status, durationMs, route });
      });
    },
  };
}

/** Figures of the calls, read when metrics are collected. */
export interface CallFigures {
  readonly calls: readonly CallSlot[];
  readonly journal: JournalFigures;
  readonly leases: LeaseFigures;
  readonly mirrorAgeMs: number;
  readonly callersCached: number;
  readonly connectionWaits: Readonly<Record<"waiting" | "waits" | "waitedMs", number>>;
  readonly upstreamBytesHeld: readonly number[];
  readonly clientBytesQueued: readonly number[];
  readonly overload: OverloadFigures;
  readonly contents: Readonly<Record<"stored" | "refused" | "dropped", number>>;
  readonly cache: Readonly<Record<"hits" | "misses" | "failures", number>>;
  readonly semanticCache: Readonly<Record<"hits" | "misses" | "failures", number>>;
  readonly guardrails: Readonly<Record<string, { readonly blocked: number; readonly masked: number }>>;
}

type AddFigure = (name: string, help: string, value: (figures: CallFigures) => number) => void;

export function addCallFigures({ registry }: Metrics, read: () => CallFigures, clock: Clock): void {
  const counter: AddFigure = (name, help, value) => addCounter(registry, { name, help, read: () => value(read()) });
  const gauge: AddFigure = (name, help, value) => addGauge(registry, { name, help, read: () => value(read()) });
  addCallMetrics(registry, () => read().calls);
  gauge("tributary_calls_open", "Calls that run now.", ({ journal }) => journal.openCalls);
  gauge("tributary_settlements_pending", "Settlements that the ledger has not confirmed yet.", ({ journal }) => journal.unacknowledged);
  gauge("tributary_settlement_lag_seconds", "Time since the oldest call ended that the ledger has not confirmed.", ({ journal }) =>
    secondsSince(journal.oldestUnacknowledgedAt, clock),
  );
  gauge("tributary_journal_bytes", "Size of this edge's journal on disk.", ({ journal }) => journal.bytes);
  gauge("tributary_leases", "Organizations whose credit is leased to this edge.", ({ leases }) => leases.usable);
  gauge("tributary_lease_free_usd", "Leased credit that no call has reserved: calls need no RPC while there is some.", ({ leases }) =>
    inUsd(leases.free),
  );
  gauge("tributary_lease_held_usd", "Leased credit that running calls have reserved.", ({ leases }) => inUsd(leases.held));
  gauge("tributary_lease_calls_waiting", "Calls that wait for credit of the control plane.", ({ leases }) => leases.waiting);
  gauge(
    "tributary_mirror_age_seconds",
    "Time since the last heartbeat of a control plane; above MIRROR_AGE_MS, cached keys are not used.",
    ({ mirrorAgeMs }) => mirrorAgeMs / 1000,
  );
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
  counter(
    "tributary_overload_refusals_total",
    "Calls that were refused because the edge had more than it can serve.",
    (figures) => figures.overload.refused,
  );
  gauge("tributary_overloaded", "1 while the edge refuses calls above its capacity.", (figures) => Number(figures.overload.isOverloaded));
  addCacheFigures(counter);
  addCounter(registry, {
    name: "tributary_call_contents_total",
    help: "Prompts and answers of calls with logContent: stored, refused because it was switched off, dropped for lack of room or a control plane.",
    labelNames: ["outcome"],
    read: () => Object.entries(read().contents).map(([outcome, value]) => ({ labels: { outcome }, value })),
  });
  addCounter(registry, {
    name: "tributary_guardrail_findings_total",
    help: "Texts that a guardrail blocked or masked.",
    labelNames: ["guardrail", "action"],
    read: () => Object.entries(read().guardrails).flatMap(([guardrail, { blocked, masked }]) => findings(guardrail, { blocked, masked })),
  });
}

function addCacheFigures(counter: AddFigure): void {
  counter("tributary_cache_hits_total", "Answers given from the response cache.", ({ cache }) => cache.hits);
  counter("tributary_cache_misses_total", "Calls that the response cache had no answer for.", ({ cache }) => cache.misses);
  counter("tributary_cache_failures_total", "Failed commands of the response cache.", ({ cache }) => cache.failures);
  counter("tributary_semantic_cache_hits_total", "Answers given for a similar text.", ({ semanticCache }) => semanticCache.hits);
  counter(
    "tributary_semantic_cache_misses_total",
    "Calls without a text that is similar enough.",
    ({ semanticCache }) => semanticCache.misses,
  );
  counter(
    "tributary_semantic_cache_failures_total",
    "Calls whose vector failed or took longer than SEMANTIC_CACHE_TIMEOUT_MS.",
    ({ semanticCache }) => semanticCache.failures,
  );
}

const findings = (guardrail: string, counts: { blocked: number; masked: number }): Sample[] =>
  Object.entries(counts).map(([action, value]) => ({ labels: { guardrail, action }, value }));

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);

/** Prometheus has floating numbers only; nothing is billed by them. */
const inUsd = (nano: bigint): number => Number(nano) / 1e9;

const secondsSince = (at: Date | undefined, clock: Clock): number => (at ? Math.max(0, clock.now() - at.getTime()) / 1000 : 0);

function routeOf(request: CallRequest, response: CallResponse): string {
  const { locals } = response;
  if (typeof locals["route"] === "string") return locals["route"];
  const { route, baseUrl } = request as CallRequest & { route?: { path: unknown }; baseUrl?: string };
  return route ? `${baseUrl ?? ""}${String(route.path)}` : "none";
}
