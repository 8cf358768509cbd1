import { systemClock } from "../../../common/clock.ts";
import { readExposition } from "../../../common/metrics/exposition-fixture.ts";
import { Deployment } from "../../../proto/gen/tributary/access/v1/access.ts";
import { UsageLog } from "../../../proto/gen/tributary/usage/v1/usage.ts";
import { CallCounts } from "../../calls/call-counts.ts";
import { addCallFigures, type CallFigures, createMetrics } from "./metrics.ts";
import { RequestCounts } from "./request-counts.ts";

const NOW = Date.parse("2026-01-01T00:00:10Z");
const clock = { ...systemClock, now: () => NOW };

function countsOf(deployments: readonly Deployment[]): CallCounts {
  const counts = new CallCounts();
  counts.update(deployments);
  return counts;
}

const figuresOf = (counts: CallCounts): CallFigures => ({
  calls: counts.slots,
  journal: { openCalls: 2, bytes: 4096, records: 9, unacknowledged: 3, oldestUnacknowledgedAt: new Date(NOW - 7000) },
  leases: { usable: 2, free: 1_500_000_000n, held: 250_000_000n, waiting: 1 },
  mirrorAgeMs: 250,
  callersCached: 4,
  connectionWaits: { waiting: 1, waits: 6, waitedMs: 2500 },
  upstreamBytesHeld: [10, 20],
  clientBytesQueued: [1, 2, 3],
  overload: { refused: 13, isOverloaded: true },
  contents: { stored: 4, refused: 5, dropped: 6 },
  cache: { hits: 7, misses: 8, failures: 9 },
  semanticCache: { hits: 0, misses: 0, failures: 0 },
  guardrails: { "no-apples": { blocked: 11, masked: 12 } },
});

test("an edge's counts are counters, its states gauges, and all are clean by promtool's rules", async () => {
  const metrics = createMetrics({ clock, edgeIndex: 3 });
  const counts = countsOf([Deployment.fromPartial({ id: "d1", modelName: "gpt", providerKind: "openai" })]);
  const usage = { input: 12n, output: 5n, total: 17n };
  counts.count(
    UsageLog.fromPartial({
      deploymentId: "d1",
      status: "success",
      stream: true,
      firstTokenMs: 300,
      latencyMs: 2000,
      cost: 2_500_000n,
      usage,
    }),
  );
  counts.countFailed("d1", 503);
  addCallFigures(metrics, () => figuresOf(counts), clock);
  const text = await metrics.registry.metrics();
  const { types, problems } = readExposition(text);
  expect(problems).toEqual([]);
  const own = [...types].filter(([name]) => name.startsWith("tributary_") && name !== "tributary_build_info");
  expect(Object.fromEntries(own)).toEqual({
    tributary_http_requests_total: "counter",
    tributary_http_request_duration_seconds: "histogram",
    tributary_calls_total: "counter",
    tributary_call_tokens_total: "counter",
    tributary_call_cost_usd_total: "counter",
    tributary_upstream_errors_total: "counter",
    tributary_call_first_token_seconds: "histogram",
    tributary_call_duration_seconds: "histogram",
    tributary_calls_open: "gauge",
    tributary_settlements_pending: "gauge",
    tributary_settlement_lag_seconds: "gauge",
    tributary_journal_bytes: "gauge",
    tributary_overload_refusals_total: "counter",
    tributary_overloaded: "gauge",
    tributary_leases: "gauge",
    tributary_lease_free_usd: "gauge",
    tributary_lease_held_usd: "gauge",
    tributary_lease_calls_waiting: "gauge",
    tributary_mirror_age_seconds: "gauge",
    tributary_callers_cached: "gauge",
    tributary_upstream_calls_waiting: "gauge",
    tributary_upstream_waits_total: "counter",
    tributary_upstream_wait_seconds_total: "counter",
    tributary_upstream_held_bytes: "gauge",
    tributary_stream_queued_bytes: "gauge",
    tributary_cache_hits_total: "counter",
    tributary_cache_misses_total: "counter",
    tributary_cache_failures_total: "counter",
    tributary_semantic_cache_hits_total: "counter",
    tributary_semantic_cache_misses_total: "counter",
    tributary_semantic_cache_failures_total: "counter",
    tributary_call_contents_total: "counter",
    tributary_guardrail_findings_total: "counter",
  });
  for (const line of [
    'tributary_calls_total{model="gpt",provider="openai",status="success",edge="3"} 1',
    'tributary_call_tokens_total{model="gpt",provider="openai",type="output",edge="3"} 5',
    'tributary_call_cost_usd_total{model="gpt",provider="openai",edge="3"} 0.0025',
    'tributary_upstream_errors_total{model="gpt",provider="openai",status="503",edge="3"} 1',
    'tributary_call_first_token_seconds_bucket{model="gpt",provider="openai",le="0.25",edge="3"} 0',
    'tributary_call_first_token_seconds_bucket{model="gpt",provider="openai",le="0.5",edge="3"} 1',
    'tributary_call_duration_seconds_sum{model="gpt",provider="openai",edge="3"} 2',
    'tributary_settlement_lag_seconds{edge="3"} 7',
    'tributary_lease_free_usd{edge="3"} 1.5',
    'tributary_upstream_wait_seconds_total{edge="3"} 2.5',
    'tributary_cache_hits_total{edge="3"} 7',
    'tributary_call_contents_total{outcome="dropped",edge="3"} 6',
    'tributary_guardrail_findings_total{guardrail="no-apples",action="masked",edge="3"} 12',
  ])
    expect(text.split("\n")).toContain(line);
});

test("requests count by route, method and status, and their time by family of routes", () => {
  const requests = new RequestCounts();
  const count = (method: string, route: string, status: number) => requests.count({ method, route }, status, 0.02);
  count("POST", "/v1/chat/completions", 200);
  count("POST", "/v1/chat/completions", 200);
  count("POST", "/v1/chat/completions", 429);
  count("BREW", "/api/gw/teams/:id", 404);
  count("STEEP", "/api/gw/teams/:id", 404);
  expect(requests.slots).toEqual([
    { route: "/v1/chat/completions", method: "POST", status: 200, count: 2 },
    { route: "/v1/chat/completions", method: "POST", status: 429, count: 1 },
    { route: "/api/gw/teams/:id", method: "other", status: 404, count: 2 },
  ]);
  const counted = [...requests.seconds].map(([family, buckets]) => [family, buckets.cumulative().at(-1)?.value]);
  expect(counted.filter(([, value]) => value !== 0)).toEqual([
    ["chat", 3],
    ["platform", 2],
  ]);
});

test("1,000 keys on 200 models of 10 providers, with every status and 300 routes, are fewer than 2,000 series, and all calls are in them", async () => {
  const metrics = createMetrics({ clock, edgeIndex: 0 });
  const counts = countsOf(
    Array.from({ length: 200 }, (_, index) =>
      Deployment.fromPartial({ id: `d${index}`, modelName: `model-${index}`, providerKind: `provider-${index % 10}` }),
    ),
  );
  const response = (route: string, statusCode: number) => {
    let close = () => {};
    const on = (_event: string, listener: () => void) => {
      close = listener;
    };
    return { statusCode, writableFinished: true, locals: { route }, on, close: () => close() };
  };
  for (let key = 0; key < 1000; key++) {
    const fields = { keyId: `key_${key}`, deploymentId: `d${key % 200}`, stream: true, firstTokenMs: 20, latencyMs: key };
    for (const status of ["success", "error", "cancelled", "refused"]) counts.count(UsageLog.fromPartial({ ...fields, status, cost: 1n }));
    for (const status of [undefined, 400, 401, 403, 404, 418, 429, 500, 502, 503, 529]) counts.countFailed(`d${key % 200}`, status);
    for (const status of [200, 400, 401, 404, 429, 503]) {
      const answered = response(`/v1/route-${key % 300}`, status);
      metrics.observe({ method: key % 2 ? "GET" : "POST" } as never, answered as never);
      answered.close();
    }
  }
  addCallFigures(metrics, () => figuresOf(counts), clock);
  const series = (await metrics.registry.metrics()).split("\n").filter((line) => /^[a-z]/.test(line));
  expect(series.length).toBeLessThan(2000);
  const sumOf = (name: string) =>
    series.filter((line) => line.startsWith(`${name}{`)).reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
  expect([sumOf("tributary_calls_total"), sumOf("tributary_upstream_errors_total"), sumOf("tributary_http_requests_total")]).toEqual([
    4000, 11_000, 6000,
  ]);
  expect(series.join()).not.toMatch(/key_\d/);
});
