/**
 * `make bench`: what a call costs here and in other gateways, in one run whose windows take turns. Everything of Tributary is on (a customer's key with
 * rate limits, reservation, journal, settlement, usage log), its whole process tree is counted, and settlement is waited for. Prints ratios and, with
 * WRITE=1, writes docs/benchmarks.md. Growth rows compare a platform with many keys, rows or deployments with a plain one, a table has what two edges take
 * for a call, and the last one what a whole platform takes at rest. ROUNDS=1, SCALE=0.1 (a part of the calls and records), WARM=2000 and
 * ONLY=nginx,bare,tributary,portkey,litellm,bifrost,growth,edges,idle shorten it.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { startProcess } from "../test/helpers/processes.ts";
import type { Contender } from "./bench/contender.ts";
import { CONTENDERS } from "./bench/contenders.ts";
import { growthSections } from "./bench/growth.ts";
import { idleSection } from "./bench/idle.ts";
import type { Load } from "./bench/load.ts";
import { scalingSection } from "./bench/scaling.ts";
import { type Cell, middle, rssOf, window } from "./bench/windows.ts";

const ROUNDS = Number(process.env["ROUNDS"] ?? 5);
const SCALE = Number(process.env["SCALE"] ?? 1);
const ONLY = process.env["ONLY"]?.split(",") ?? [...Object.keys(CONTENDERS), "growth", "edges", "idle"];
const SLOWEST = ["LiteLLM"];
/**
 * Whole calls before the first window, because the benchmark measures the steady state: V8 compiles some 300 functions of an edge for good after ten to twelve
 * thousand calls, which costs as much as a thousand of them, and what a call costs falls until about twenty thousand.
 */
const WARM = Number(process.env["WARM"] ?? 30_000);
/** What a slow gateway gets of the calls, so that one window does not take minutes. */
const SLOW_SHARE = 0.1;

const ROWS: readonly { readonly name: string; readonly load: Load }[] = [
  { name: "whole, 1 connection", load: { stream: false, connections: 1, calls: 1000 } },
  { name: "whole, 64 connections", load: { stream: false, connections: 64, calls: 5000 } },
  { name: "whole, 256 connections", load: { stream: false, connections: 256, calls: 5000 } },
  { name: "whole, 500/s open loop", load: { stream: false, connections: 256, calls: 2000, rate: 500 } },
  { name: "50 chunks at 0 ms, 64 connections", load: { stream: true, connections: 64, calls: 1500 } },
  { name: "50 chunks at 20 ms, 64 connections", load: { stream: true, isPaced: true, connections: 64, calls: 256 } },
];

const folder = mkdtempSync(join(tmpdir(), "tributary-bench-"));
const upstream = startProcess({ entry: "scripts/bench/upstream.ts", env: {}, name: "upstream" });
const upstreamUrl = `http://127.0.0.1:${(await upstream.ready).port}`;
const direct: Contender = {
  name: "direct",
  version: "",
  url: upstreamUrl,
  headers: {},
  startMs: 0,
  roots: [],
  settled: async () => {},
  stop: async () => {},
};
const [running, absent]: [Contender[], string[]] = [[], []];
try {
  for (const [name, start] of Object.entries(CONTENDERS)) {
    const started = ONLY.includes(name) ? await start({ folder, upstreamUrl }) : "left out of this run (`ONLY`)";
    if (typeof started === "string") absent.push(`${name}: ${started}`);
    else running.push(started);
  }
  // Streams first, because the first rows are of whole calls.
  for (const stream of [true, false]) for (const contender of running) await window(contender, warmUp(contender, stream));
  const tables: string[] = [];
  for (const row of running.length > 0 ? ROWS : []) tables.push(await table(row.name, row.load));
  const started = startRows();
  await stopAll();
  if (ONLY.includes("growth"))
    tables.push(...(await growthSections({ folder, upstreamUrl }, { rounds: ROUNDS, scale: SCALE, warm: WARM })));
  if (ONLY.includes("edges")) tables.push(await scalingSection({ folder, upstreamUrl }, { rounds: ROUNDS, scale: SCALE, warm: WARM }));
  if (ONLY.includes("idle")) tables.push(await idleSection({ folder, seconds: Math.max(10, 60 * SCALE) }));
  const text = report(tables, started);
  console.log(text);
  if (process.env["WRITE"] === "1") writeFileSync(join(import.meta.dirname, "../docs/benchmarks.md"), text);
} finally {
  await stopAll();
  await upstream.stop("SIGKILL");
  rmSync(folder, { recursive: true, force: true });
}

async function stopAll(): Promise<void> {
  await Promise.all(running.splice(0).map((contender) => contender.stop()));
}

async function table(name: string, asked: Load): Promise<string> {
  const figures = new Map<Contender, Cell[]>([direct, ...running].map((contender) => [contender, []]));
  for (const contender of figures.keys()) await window(contender, scaled(asked, contender, 0.5));
  for (let round = 0; round < ROUNDS; round++) {
    for (const [contender, cells] of figures) cells.push(await window(contender, scaled(asked, contender)));
  }
  const median = (contender: Contender): Cell => middle(figures.get(contender) ?? []);
  const [floor, own] = [median(direct), running.find(({ name: other }) => other === "Tributary")];
  const bare = running.find(({ name: other }) => other.startsWith("bare"));
  const lines = running.map((contender) => {
    const { cpuPer1000, p50, p99, failed } = median(contender);
    if (failed !== undefined) return `| ${contender.name} | ${failed} | | | | |`;
    const ratio = (other: Contender | undefined) => (other ? (cpuPer1000 / median(other).cpuPer1000).toFixed(2) : "-");
    const added = [p50 - floor.p50, p99 - floor.p99].map((ms) => ms.toFixed(2));
    return `| ${contender.name} | ${cpuPer1000.toFixed(3)} | ${ratio(bare)} | ${ratio(own)} | ${added[0]} | ${added[1]} |`;
  });
  const head = ["| | CPU-seconds per 1,000 | × bare | × Tributary | added p50 ms | added p99 ms |", "|---|---|---|---|---|---|"];
  return [`## ${name[0]?.toUpperCase()}${name.slice(1)}`, "", ...head, ...lines].join("\n");
}

function warmUp({ name }: Contender, stream: boolean): Load {
  return { stream, connections: 32, calls: Math.ceil(WARM * (SLOWEST.includes(name) ? SLOW_SHARE / 10 : 1) * (stream ? 0.2 : 1)) };
}

function scaled(asked: Load, { name }: Contender, share = 1): Load {
  const calls = Math.ceil(asked.calls * SCALE * share * (SLOWEST.includes(name) ? SLOW_SHARE : 1));
  return { ...asked, calls: Math.max(calls, 20), connections: Math.min(asked.connections, Math.max(calls, 20)) };
}

/** What is known of the gateways while they run. */
function startRows(): string[] {
  return running.map(({ name, version, startMs, roots }) => {
    return `| ${name} | ${version} | ${(startMs / 1000).toFixed(1)} | ${rssOf({ roots }).toFixed(0)} |`;
  });
}

function report(tables: readonly string[], started: readonly string[]): string {
  const machine = `${cpus().length} cores (${cpus()[0]?.model ?? "unknown"}), Node ${process.version}, ${new Date().toISOString().slice(0, 10)}`;
  const conditions = process.env["CONDITIONS"] ?? "nothing else was measured beside it";
  return [
    "# Benchmarks",
    "",
    "Printed by `make bench WRITE=1`. One run, in which the gateways take turns; medians of its rounds. The provider is a local process that answers at once, and the load",
    "generator runs on the same machine. Tributary has everything on: a customer's key with rate limits, reservation, journal, settlement and usage log; edge and",
    "control plane are counted, and settlement is waited for. The others have one provider and no limits. Added time is above a call to the provider itself.",
    "",
    `${machine}; ${ROUNDS} rounds, ${SCALE} of the calls of a full run after ${WARM} whole calls to warm up; LiteLLM gets a tenth of them. Conditions: ${conditions}.`,
    "",
    `| | version | start s | RSS MB after the run |\n|---|---|---|---|\n${started.join("\n")}`,
    "",
    absent.length > 0 ? `Absent: ${absent.join("; ")}.\n` : "",
    tables.join("\n\n"),
    "",
  ].join("\n");
}
