/**
 * `make bench`: what a call costs here and in other gateways, in one run whose windows take turns. Everything of Tributary is on (a customer's key with
 * rate limits, reservation, journal, settlement, usage log), its whole process tree is counted, and settlement is waited for. Prints ratios and, with
 * WRITE=1, writes docs/benchmarks.md. ROUNDS=1, SCALE=0.1 (a part of the calls), WARM=2000 and ONLY=nginx,bare,tributary,portkey,litellm,bifrost shorten it.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { startProcess } from "../test/helpers/processes.ts";
import { CONTENDERS, type Contender } from "./bench/contenders.ts";
import { cpuSeconds, processTree, rssMb } from "./bench/cpu.ts";
import { type Load, load, percentile } from "./bench/load.ts";

const ROUNDS = Number(process.env["ROUNDS"] ?? 5);
const SCALE = Number(process.env["SCALE"] ?? 1);
const ONLY = process.env["ONLY"]?.split(",") ?? Object.keys(CONTENDERS);
const SLOWEST = ["LiteLLM"];
/** Calls before the first window of a kind, because JIT compilation takes thousands of them and the benchmark measures the steady state. */
const WARM = Number(process.env["WARM"] ?? 10_000);
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

/** One window. */
interface Figure {
  readonly cpuPer1000: number;
  readonly p50: number;
  readonly p99: number;
}

interface Cell extends Figure {
  /** Another word for a row that the gateway cannot do, such as a rate above its capacity. */
  readonly failed?: string | undefined;
}

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
  for (const contender of running) for (const stream of [false, true]) await window(contender, warmUp(contender, stream));
  const tables: string[] = [];
  for (const row of ROWS) tables.push(await table(row.name, row.load));
  const text = report(tables);
  console.log(text);
  if (process.env["WRITE"] === "1") writeFileSync(join(import.meta.dirname, "../docs/benchmarks.md"), text);
} finally {
  await Promise.all(running.map((contender) => contender.stop()));
  await upstream.stop("SIGKILL");
  rmSync(folder, { recursive: true, force: true });
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

async function window(contender: Contender, asked: Load): Promise<Cell> {
  const used = () => contender.roots.flatMap(processTree).reduce((sum, pid) => sum + cpuSeconds(pid), 0);
  const before = used();
  try {
    const times = await load(contender, asked);
    await contender.settled();
    return { cpuPer1000: ((used() - before) / asked.calls) * 1000, p50: percentile(times, 0.5), p99: percentile(times, 0.99) };
  } catch (error) {
    return { cpuPer1000: Number.NaN, p50: Number.NaN, p99: Number.NaN, failed: `failed: ${String(error).slice(0, 120)}` };
  }
}

function middle(cells: readonly Cell[]): Cell {
  const failed = cells.find((cell) => cell.failed !== undefined);
  if (failed) return failed;
  const of = (name: keyof Figure) =>
    percentile(
      cells.map((cell) => cell[name]),
      0.5,
    );
  return { cpuPer1000: of("cpuPer1000"), p50: of("p50"), p99: of("p99") };
}

function report(tables: readonly string[]): string {
  const machine = `${cpus().length} cores (${cpus()[0]?.model ?? "unknown"}), Node ${process.version}, ${new Date().toISOString().slice(0, 10)}`;
  const conditions = process.env["CONDITIONS"] ?? "nothing else was measured beside it";
  const started = running.map(({ name, version, startMs, roots }) => {
    const memory = roots.flatMap(processTree).reduce((sum, pid) => sum + rssMb(pid), 0);
    return `| ${name} | ${version} | ${(startMs / 1000).toFixed(1)} | ${memory.toFixed(0)} |`;
  });
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
