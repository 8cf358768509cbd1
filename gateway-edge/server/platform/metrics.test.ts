import { systemClock } from "../../../common/clock.ts";
import { readExposition } from "../../../common/metrics/exposition-fixture.ts";
import { addCallFigures, createMetrics } from "./metrics.ts";

const FIGURES = {
  settledByStatus: { success: 5, error: 2 },
  settlementsPending: 3,
  callersCached: 4,
  connectionWaits: { waiting: 1, waits: 6, waitedMs: 2500 },
  upstreamBytesHeld: [10, 20],
  clientBytesQueued: [1, 2, 3],
  cache: { hits: 7, misses: 8, failures: 9 },
  guardrails: { "no-apples": { blocked: 11, masked: 12 } },
};

test("an edge's counts are counters, its states gauges, and all are clean by promtool's rules", async () => {
  const metrics = createMetrics({ clock: systemClock, edgeIndex: 3 });
  addCallFigures(metrics, () => FIGURES);
  const text = await metrics.registry.metrics();
  const { types, problems } = readExposition(text);
  expect(problems).toEqual([]);
  const own = [...types].filter(([name]) => name.startsWith("tributary_") && name !== "tributary_build_info");
  expect(Object.fromEntries(own)).toEqual({
    tributary_http_requests_total: "counter",
    tributary_http_request_duration_seconds: "histogram",
    tributary_calls_settled_total: "counter",
    tributary_settlements_pending: "gauge",
    tributary_callers_cached: "gauge",
    tributary_upstream_calls_waiting: "gauge",
    tributary_upstream_waits_total: "counter",
    tributary_upstream_wait_seconds_total: "counter",
    tributary_upstream_held_bytes: "gauge",
    tributary_stream_queued_bytes: "gauge",
    tributary_cache_hits_total: "counter",
    tributary_cache_misses_total: "counter",
    tributary_cache_failures_total: "counter",
    tributary_guardrail_findings_total: "counter",
  });
  for (const line of [
    'tributary_calls_settled_total{status="success",edge="3"} 5',
    'tributary_upstream_wait_seconds_total{edge="3"} 2.5',
    'tributary_cache_hits_total{edge="3"} 7',
    'tributary_guardrail_findings_total{guardrail="no-apples",action="masked",edge="3"} 12',
  ])
    expect(text.split("\n")).toContain(line);
});
