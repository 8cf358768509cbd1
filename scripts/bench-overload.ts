/**
 * `make bench-overload`: what an edge does with more callers than it can serve. Each row has that many connections, which call one after the other
 * for SECONDS (30). After a refusal callers wait the seconds of its `retry-after`, those of the last rows not at all. The last table has CONNECTIONS idle
 * connections (10,000) and STREAMS streams (1,000) of 20 tokens a second, through a bare Node + undici pass-through, too. Prints each figure beside its
 * goal. CALLERS=64,320 and HASTY=320 change the rows; the first is the peak. ONLY=callers or ONLY=streams leaves the other out; WARM is the number of calls
 * before the first row.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort, startProcess } from "../test/helpers/processes.ts";
import { startSystem } from "../test/helpers/system.ts";
import { CallerProcess, type CallerReport } from "./bench/caller.ts";
import { benchConfig } from "./bench/config-text.ts";
import { cpuSeconds, rssMb } from "./bench/cpu.ts";
import { type EdgeSample, watchEdge } from "./bench/edge-samples.ts";
import { limitedCustomer } from "./bench/limited-customer.ts";
import { bareLine, overloadGoals, streamGoals } from "./bench/overload-goals.ts";
import { goalTable } from "./bench/verdict.ts";

const SECONDS = Number(process.env["SECONDS"] ?? 30);
const ONLY = process.env["ONLY"] ?? "callers,streams";
const counts = (text: string) => text.split(",").filter(Boolean).map(Number);
const CALLERS = counts(process.env["CALLERS"] ?? "64,320,1000,4000");
const HASTY = counts(process.env["HASTY"] ?? "320,1000");
const STREAMS = Number(process.env["STREAMS"] ?? 1000);
const CONNECTIONS = Number(process.env["CONNECTIONS"] ?? 10_000);
/** JIT compilation takes thousands of calls. */
const WARM_CALLS = Number(process.env["WARM"] ?? 20_000);
const WARM_SECONDS = 5;
/** 50 tokens, 20 a second. Streams that began together would all end and begin again together, for good: a thousand calls at one instant. */
const STREAM_MS = 2500;
const question = "a question of some length, ".repeat(8);
const bodyOf = (stream: boolean, content: string) => JSON.stringify({ model: "bench", stream, messages: [{ role: "user", content }] });

const folder = mkdtempSync(join(tmpdir(), "tributary-overload-"));
const upstream = startProcess({ entry: "scripts/bench/upstream.ts", env: {}, name: "upstream" });
const upstreamUrl = `http://127.0.0.1:${(await upstream.ready).port}`;
const bare = startProcess({ entry: "scripts/bench/bare-proxy.ts", env: { UPSTREAM: upstreamUrl, CONNECTIONS: "8192" }, name: "bare" });
const bareUrl = `http://127.0.0.1:${(await bare.ready).port}`;
const config = join(folder, "config.yaml");
writeFileSync(config, benchConfig(upstreamUrl));
const metricsPort = await freePort();
const system = await startSystem({ env: { CONFIG: config, LOG_LEVEL: "warn" }, edgeEnv: { METRICS_PORT: String(metricsPort) } });
const edgePid = system.edges[0]?.pid ?? -1;
const edge = watchEdge({ metricsPort, pid: edgePid });
const caller = await CallerProcess.start();
// A customer with more credits than a run can spend: the master key has those of a new platform, which is half a million calls.
const target = { url: system.url, headers: (await limitedCustomer(system)).headers };
try {
  if (ONLY.includes("callers")) await callerRows();
  if (ONLY.includes("streams")) await streamRow();
} finally {
  caller.stop();
  await system.stop();
  await Promise.all([upstream, bare].map((child) => child.stop("SIGKILL")));
  rmSync(folder, { recursive: true, force: true });
}

async function callerRows(): Promise<void> {
  const warm = { ...target, body: bodyOf(false, question), callers: 32, seconds: WARM_SECONDS };
  for (let answered = 0; answered < WARM_CALLS; ) answered += (await caller.run(warm)).answered;
  const rows = [...CALLERS.map((callers) => ({ callers, isHasty: false })), ...HASTY.map((callers) => ({ callers, isHasty: true }))];
  console.log(
    "callers         answered/s  per CPU-second  refused/s  broken   p50 ms   p99 ms  refusal p50, p99 ms  first call p99 ms  generator late p99 ms  unsettled first → most → last  RSS MB first → most → last",
  );
  const measured: { name: string; isHasty: boolean; report: CallerReport; samples: EdgeSample[] }[] = [];
  for (const { callers, isHasty } of rows) {
    await edge.settled();
    const samples = edge.begin();
    const usedBefore = cpuSeconds(edgePid);
    const report = await caller.run({ ...target, body: bodyOf(false, question), callers, seconds: SECONDS, isHasty });
    requireOverloadOnly(report);
    const usedSeconds = cpuSeconds(edgePid) - usedBefore;
    const name = isHasty ? `${callers}, hasty` : String(callers);
    measured.push({ name, isHasty, report, samples: await samples.end() });
    printRow({ name, report, usedSeconds, samples: measured.at(-1)?.samples ?? [] });
  }
  console.log(`\n${goalTable(overloadGoals(measured, SECONDS))}`);
}

/** Any other refusal has another cause, and would be counted as one for overload. */
function requireOverloadOnly({ statuses }: CallerReport): void {
  const others = Object.keys(statuses).filter((status) => status !== "200" && status !== "503");
  if (others.length > 0) throw new Error(`calls were answered ${others.join(", ")}: ${JSON.stringify(statuses)}`);
}

interface PrintedRow {
  readonly name: string;
  readonly report: CallerReport;
  /** CPU of the edge: where the machine has other work, answers per second of it say more than answers per second. */
  readonly usedSeconds: number;
  readonly samples: readonly EdgeSample[];
}

function printRow({ name, report, usedSeconds, samples }: PrintedRow): void {
  const ms = (value: number) => (Number.isNaN(value) ? "-" : value.toFixed(1));
  const course = (values: readonly number[]) => `${values[0]} → ${Math.max(...values)} → ${values.at(-1)}`;
  const cells = [
    name.padEnd(14),
    Math.round(report.answered / SECONDS)
      .toString()
      .padStart(11),
    Math.round(report.answered / usedSeconds)
      .toString()
      .padStart(15),
    Math.round(report.refused / SECONDS)
      .toString()
      .padStart(10),
    String(report.broken).padStart(7),
    ms(report.answeredMs.p50).padStart(8),
    ms(report.answeredMs.p99).padStart(8),
    `${ms(report.refusedMs.p50)}, ${ms(report.refusedMs.p99)}`.padStart(20),
    ms(report.connectingMs.p99).padStart(18),
    ms(report.ownDelayP99Ms).padStart(22),
    course(samples.map(({ unsettled }) => unsettled)).padStart(30),
    course(samples.map(({ rssMb }) => rssMb)).padStart(26),
  ];
  console.log(cells.join(" "));
}

/** Streams of 20 tokens a second beside idle connections: at the upstream itself, through a bare pass-through, and at the edge. */
async function streamRow(): Promise<void> {
  const body = bodyOf(true, `every 50 ms, ${question}`);
  const task = { body, callers: STREAMS, seconds: SECONDS, spreadMs: STREAM_MS };
  const bareTask = { url: bareUrl, headers: {}, ...task };
  for (const warmed of [{ ...target, ...task }, bareTask]) await caller.run({ ...warmed, seconds: WARM_SECONDS });
  const direct = await caller.run({ url: upstreamUrl, headers: {}, ...task });
  const throughBare = await caller.run({ ...bareTask, idle: CONNECTIONS });
  const bareMb = rssMb(bare.pid);
  const samples = edge.begin();
  const report = await caller.run({ ...target, ...task, idle: CONNECTIONS });
  const late = [direct, throughBare, report].map(({ ownDelayP99Ms }) => ownDelayP99Ms.toFixed(0)).join(", ");
  console.log(
    `\n${report.answered} streams of 50 tokens at 20 a second, ${STREAMS} at once, beside ${CONNECTIONS} idle connections; the generator was up to ${late} ms late`,
  );
  console.log(`\n${goalTable(streamGoals({ direct, report, samples: await samples.end() }))}`);
  console.log(`\nThe same through bare Node + undici: ${bareLine({ direct, report: throughBare, rssMb: bareMb })}`);
}
