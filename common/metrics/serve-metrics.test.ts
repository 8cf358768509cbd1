import { Registry } from "prom-client";
import { readConfig } from "../config.ts";
import { VERSION } from "../version.ts";
import { readExposition } from "./exposition-fixture.ts";
import { metricsSettings } from "./metrics-settings.ts";
import { addCounter, addGauge, addProcessMetrics, byLabel } from "./read-metrics.ts";
import { addReadyMetric, type MetricsServer, type ProcessState, serveMetrics } from "./serve-metrics.ts";

const HERE = { metricsPort: 0, metricsHost: "127.0.0.1" };
const opened: MetricsServer[] = [];

const ready = () => "ready" as const;

async function serve(
  metrics: Parameters<typeof serveMetrics>[1],
  state: () => ProcessState = ready,
): Promise<{ server: MetricsServer; url: string }> {
  const server = await serveMetrics(HERE, metrics, state);
  if (!server) throw new Error("a port was given");
  opened.push(server);
  return { server, url: `http://127.0.0.1:${server.port}` };
}

afterEach(async () => {
  await Promise.all(opened.splice(0).map((server) => server.stop()));
});

test("without METRICS_PORT nothing listens; with it, on this machine only unless METRICS_HOST says otherwise", async () => {
  const unset = readConfig(metricsSettings, {});
  expect(unset).toEqual({ metricsHost: "127.0.0.1" });
  await expect(serveMetrics(unset, new Registry(), ready)).resolves.toBeUndefined();
  expect(readConfig(metricsSettings, { METRICS_PORT: "9464", METRICS_HOST: "::" })).toEqual({ metricsPort: 9464, metricsHost: "::" });
  expect(() => readConfig(metricsSettings, { METRICS_PORT: "70000" })).toThrow("METRICS_PORT: must be at most 65535");
});

test("GET /metrics answers in Prometheus' format, everything else is a 404, and nothing answers after the stop", async () => {
  const registry = new Registry();
  addGauge(registry, { name: "tributary_test", help: "A figure.", read: () => 7 });
  const { server, url } = await serve(registry);
  const answer = await fetch(`${url}/metrics`);
  expect([answer.status, answer.headers.get("content-type")]).toEqual([200, registry.contentType]);
  await expect(answer.text()).resolves.toContain("\ntributary_test 7\n");
  expect((await fetch(`${url}/metrics?name=x`)).status).toBe(200);
  for (const [method, path] of [
    ["GET", "/"],
    ["GET", "/metrics/x"],
    ["POST", "/metrics"],
    ["DELETE", "/metrics"],
    ["POST", "/ready"],
    ["GET", "/toString"],
  ] as const) {
    expect((await fetch(`${url}${path}`, { method, ...(method === "POST" ? { body: "x".repeat(100_000) } : {}) })).status).toBe(404);
  }
  await server.stop();
  opened.length = 0;
  await expect(fetch(`${url}/metrics`)).rejects.toThrow("fetch failed");
});

test("/ready says whether the process is to get calls, and /healthz that it lives, whatever its state", async () => {
  const states: ProcessState[] = ["starting", "ready", "unavailable", "stopping"];
  let state: ProcessState = "starting";
  const { url } = await serve(new Registry(), () => state);
  const answers = [];
  for (state of states) {
    const [probed, alive] = [await fetch(`${url}/ready`), await fetch(`${url}/healthz`)];
    answers.push([probed.status, await probed.text(), alive.status]);
  }
  expect(answers).toEqual([
    [503, "starting\n", 200],
    [200, "ready\n", 200],
    [503, "unavailable\n", 200],
    [503, "stopping\n", 200],
  ]);
});

test("only the state `ready` is 1", async () => {
  const registry = new Registry();
  let state: ProcessState = "starting";
  addReadyMetric(registry, () => state);
  const seen: Record<string, boolean> = {};
  for (const each of ["starting", "ready", "unavailable", "stopping"] as const) {
    state = each;
    seen[each] = (await registry.metrics()).includes("\ntributary_ready 1\n");
  }
  expect(seen).toEqual({ starting: false, ready: true, unavailable: false, stopping: false });
});

test("a figure that cannot be read fails its scrape only", async () => {
  const registry = new Registry();
  let isBroken = true;
  const read = () => {
    if (isBroken) throw new Error("no figure");
    return 1;
  };
  addGauge(registry, { name: "tributary_test", help: "A figure.", read });
  const { url } = await serve(registry);
  const failed = await fetch(`${url}/metrics`);
  expect([failed.status, await failed.text()]).toEqual([500, "Error: no figure\n"]);
  isBroken = false;
  expect((await fetch(`${url}/metrics`)).status).toBe(200);
});

test("a port that another process has is an error that names the setting", async () => {
  const { server } = await serve(new Registry());
  await expect(serveMetrics({ ...HERE, metricsPort: server.port }, new Registry(), ready)).rejects.toThrow(
    new RegExp(`^METRICS_PORT: metrics cannot be served at 127.0.0.1:${server.port} .*EADDRINUSE.*a free port of its own`),
  );
});

test("what every process has is clean by promtool's rules, and names its version and role", async () => {
  const registry = new Registry();
  addProcessMetrics(registry, "coordinator");
  const text = await registry.metrics();
  expect(readExposition(text).problems).toEqual([]);
  expect(text).toContain(`tributary_build_info{version="${VERSION}",role="coordinator"} 1`);
  expect(text).toContain("process_start_time_seconds ");
});

test("a counter has its source's value at every scrape, and labels that are gone are gone", async () => {
  const registry = new Registry();
  let counts: Record<string, number> = { a: 1, b: 2 };
  addCounter(registry, { name: "tributary_test_total", help: "A count.", labelNames: ["kind"], read: () => byLabel("kind", counts) });
  await registry.metrics();
  counts = { a: 3 };
  expect((await registry.metrics()).split("\n").filter((line) => line.startsWith("tributary"))).toEqual([
    'tributary_test_total{kind="a"} 3',
  ]);
});

test("the rules find a counter without _total, a gauge with it, a missing HELP, a repeated series, a tenant and too many values", () => {
  const many = Array.from({ length: 51 }, (_, index) => `d{label="${index}"} 1`);
  const text = [
    ...["# HELP a Some.", "# TYPE a counter", "a 1", "# HELP b_total Some.", "# TYPE b_total gauge", "b_total 1"],
    ...["# TYPE c gauge", 'c{x="1",y="2"} 1', 'c{y="2",x="1"} 1', 'c{x="org_1"} 1', "# HELP d Some.", "# TYPE d gauge", ...many, "e 1"],
  ];
  expect(readExposition(text.join("\n")).problems).toEqual([
    "c has no HELP",
    "a is a counter: counters, and only they, end in _total",
    "b_total is a gauge: counters, and only they, end in _total",
    'c{x="1",y="2"} is there twice',
    "c.x names a tenant: org_1",
    "e has no TYPE",
    "d.label has too many values",
  ]);
});
