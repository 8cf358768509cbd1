import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { readExposition } from "../../common/metrics/exposition-fixture.ts";
import { call } from "../helpers/api.ts";
import { promtool } from "../helpers/prometheus.ts";
import { expressionsOf, missingMetrics, readDashboards, readRules } from "./rules.ts";
import { JOBS, type Job, MASTER_KEY, startWatchedPlatform, type WatchedPlatform } from "./watched-platform.ts";

let platform: WatchedPlatform;
const scraped = new Map<Job, string>();

beforeAll(async () => {
  platform = await startWatchedPlatform();
  const headers = { authorization: `Bearer ${MASTER_KEY}` };
  const body = { model: "echo", messages: [{ role: "user", content: "hello" }], stream: true };
  const answer = await call(platform.url, "POST", "/v1/chat/completions", { headers, body });
  expect(answer.status).toBe(200);
  for (const job of JOBS) scraped.set(job, await (await fetch(`http://${platform.targets[job][0]}/metrics`)).text());
}, 120_000);

afterAll(() => platform?.stop());

const namesIn = (text: string) => [...readExposition(text).types.keys()];

test.each(JOBS)("what %s serves is clean by promtool, and has fewer than 2,000 series", async (job) => {
  const text = scraped.get(job) ?? "";
  expect(await promtool(["check", "metrics"], text)).toEqual({ code: 0, output: "" });
  expect(readExposition(text).problems).toEqual([]);
  expect(text.split("\n").filter((line) => /^[a-z]/.test(line)).length).toBeLessThan(2000);
});

test("a paid call is in the metrics of its edge, by the configured group of its model", () => {
  const lines = (scraped.get("tributary-edge") ?? "").split("\n");
  const figureOf = (name: string) =>
    Number(
      lines
        .find((line) => line.startsWith(name))
        ?.split(" ")
        .at(-1),
    );
  expect(figureOf('tributary_calls_total{model="echo",provider="echo",status="success"')).toBe(1);
  expect(figureOf('tributary_call_tokens_total{model="echo",provider="echo",type="output"')).toBeGreaterThan(0);
  expect(figureOf('tributary_call_first_token_seconds_count{model="echo",provider="echo"')).toBe(1);
  expect(figureOf('tributary_call_duration_seconds_count{model="echo",provider="echo"')).toBe(1);
  expect(figureOf("tributary_mirror_age_seconds")).toBeLessThan(60);
  expect(figureOf("tributary_ready")).toBe(1);
});

test("every metric that an alert rule or a dashboard names is in a scrape", () => {
  const served = new Set([...scraped.values()].flatMap(namesIn));
  expect(missingMetrics(served)).toEqual([]);
  expect(missingMetrics(new Set())).toContain("TributaryMirrorStale: tributary_mirror_age_seconds");
  expect(readRules().length).toBeGreaterThan(20);
  const dashboards = readDashboards();
  expect(dashboards.map(({ file }) => file).sort()).toEqual(["money.json", "overview.json", "training.json"]);
  for (const dashboard of dashboards) expect(expressionsOf(dashboard).length).toBeGreaterThan(5);
});

test("every own metric is on the page of monitoring", () => {
  const page = readFileSync(resolve(import.meta.dirname, "../../docs/operations/monitoring.md"), "utf8");
  const own = [...scraped.values()].flatMap(namesIn).filter((name) => /^(tributary|trainer)_/.test(name));
  expect([...new Set(own)].filter((name) => !page.includes(`\`${name}\``))).toEqual([]);
});
