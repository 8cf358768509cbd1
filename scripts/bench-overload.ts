/**
 * `make bench-overload`: what an edge does with more callers than it can serve. Each row has that many connections, which call one after the
 * other for SECONDS; CALLERS changes the rows. Goodput should stay, refusals should be quick, and neither unsettled calls nor memory grow.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Pool } from "undici";
import { freePort, startProcess } from "../test/helpers/processes.ts";
import { MASTER_KEY, startSystem } from "../test/helpers/system.ts";
import { benchConfig } from "./bench/config-text.ts";

const SECONDS = Number(process.env["SECONDS"] ?? 30);
const ROWS = (process.env["CALLERS"] ?? "64,256,1000,4000").split(",").map(Number);
const BODY = JSON.stringify({ model: "bench", messages: [{ role: "user", content: "a question of some length, ".repeat(8) }] });

interface Outcome {
  readonly status: number;
  readonly ms: number;
}

interface Sample {
  readonly unsettled: number;
  readonly rssMb: number;
}

const folder = mkdtempSync(join(tmpdir(), "tributary-overload-"));
const upstream = startProcess({ entry: "scripts/bench/upstream.ts", env: {}, name: "upstream" });
const config = join(folder, "config.yaml");
writeFileSync(config, benchConfig(`http://127.0.0.1:${(await upstream.ready).port}`));
const metricsPort = await freePort();
const system = await startSystem({ env: { CONFIG: config, LOG_LEVEL: "warn" }, edgeEnv: { METRICS_PORT: String(metricsPort) } });
try {
  await callFor(5, 32);
  console.log(
    "callers   answered/s   refused/s   broken   p50 ms   p99 ms   refusal p99 ms   unsettled first → most → last   RSS MB first → last",
  );
  for (const callers of ROWS) await row(callers);
} finally {
  await system.stop();
  await upstream.stop("SIGKILL");
  rmSync(folder, { recursive: true, force: true });
}

async function row(callers: number): Promise<void> {
  const samples: Sample[] = [];
  const over = new AbortController();
  const sampling = sampleInto(samples, over.signal);
  const outcomes = await callFor(SECONDS, callers);
  over.abort();
  await sampling;
  const answered = outcomes.filter(({ status }) => status === 200);
  const refused = outcomes.filter(({ status }) => status >= 400);
  const broken = outcomes.filter(({ status }) => status === 0).length;
  const unsettled = samples.map((sample) => sample.unsettled);
  const cells = [
    callers,
    Math.round(answered.length / SECONDS),
    Math.round(refused.length / SECONDS),
    broken,
    percentile(answered, 0.5),
    percentile(answered, 0.99),
    percentile(refused, 0.99),
    `${unsettled[0]} → ${Math.max(...unsettled)} → ${unsettled.at(-1)}`,
    `${samples[0]?.rssMb} → ${samples.at(-1)?.rssMb}`,
  ];
  console.log(cells.join("   "));
}

async function callFor(seconds: number, callers: number): Promise<Outcome[]> {
  const pool = new Pool(system.url, { connections: callers });
  const headers = { "content-type": "application/json", authorization: `Bearer ${MASTER_KEY}` };
  const outcomes: Outcome[] = [];
  const untilMs = performance.now() + seconds * 1000;
  const caller = async () => {
    while (performance.now() < untilMs) {
      const beganMs = performance.now();
      const status = await pool.request({ path: "/v1/chat/completions", method: "POST", headers, body: BODY }).then(
        async ({ statusCode, body }) => {
          await body.dump();
          return statusCode;
        },
        () => 0,
      );
      outcomes.push({ status, ms: performance.now() - beganMs });
      // As a client does after a refusal that names a second.
      if (status !== 200) await sleep(1000);
    }
  };
  await Promise.all(Array.from({ length: callers }, caller));
  await pool.close();
  return outcomes;
}

async function sampleInto(samples: Sample[], over: AbortSignal): Promise<void> {
  const pid = system.edges[0]?.pid ?? -1;
  while (!over.aborted) {
    const text = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
    const unsettled = Number(/^tributary_settlements_pending(?:\{[^}]*\})? (\S+)/m.exec(text)?.[1]);
    const rssMb = Math.round(Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1024);
    samples.push({ unsettled, rssMb });
    await sleep(1000);
  }
}

function percentile(outcomes: readonly Outcome[], share: number): string {
  const sorted = outcomes.map(({ ms }) => ms).toSorted((left, right) => left - right);
  const value = sorted[Math.ceil(sorted.length * share) - 1];
  return value === undefined ? "-" : value.toFixed(1);
}
