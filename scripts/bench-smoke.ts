/**
 * `make bench-smoke`: the CPU cost of a billed call. CPU time of edge and control plane together for 1,000 calls, with everything on and
 * settled, for a customer's key with rate limits, divided by that of a bare Node + undici pass-through, measured alternately in one run. Fails
 * above the guard, or if the edge keeps objects of calls that have ended: bytes that young garbage collections promote.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ServiceProcess, startProcess } from "../test/helpers/processes.ts";
import { startSystem } from "../test/helpers/system.ts";
import { benchConfig } from "./bench/config-text.ts";
import { cpuSeconds } from "./bench/cpu.ts";
import { limitedCustomer } from "./bench/limited-customer.ts";
import { load, type Target } from "./bench/load.ts";
import { median } from "./bench/median.ts";
import { promotedBytes, TRACE_GC_FLAG } from "./bench/promoted.ts";

/** The target of 3.0 over the earlier bare (58 microseconds), over this one (`Pool.dispatch`, 41). CI sets a wider guard, because its machine has other load. */
const GUARD = Number(process.env["GUARD"] ?? 4.2);
const ROUNDS = Number(process.env["ROUNDS"] ?? 15);
/** Warm-up calls, because JIT compilation takes thousands of calls and the benchmark measures the steady state. */
const WARM_CALLS = Number(process.env["WARM"] ?? 20_000);
const CALLS = 1500;
/** 600 to 850 bytes of a whole call are promoted, and 7,500 where something keeps the calls that have ended. */
const PROMOTED_MAX = 2500;
const AT_ONCE = 32;
/** Wait for the settlement of the last calls, which is part of their cost. */
const SETTLE_MS = 400;

const folder = mkdtempSync(join(tmpdir(), "tributary-smoke-"));
const started: ServiceProcess[] = [];
const start = async (entry: string, env: Record<string, string> = {}) => {
  const child = startProcess({ entry, env, name: entry });
  started.push(child);
  return { child, url: `http://127.0.0.1:${(await child.ready).port}` };
};

const upstream = await start("scripts/bench/upstream.ts");
const bare = await start("scripts/bench/bare-proxy.ts", { UPSTREAM: upstream.url });
const config = join(folder, "config.yaml");
writeFileSync(config, benchConfig(upstream.url));
// The benchmark measures what calls cost, so none is refused.
const system = await startSystem({
  env: { CONFIG: config, LOG_LEVEL: "warn" },
  edgeEnv: { OVERLOAD_TURN_MS: "0" },
  edgeFlags: [TRACE_GC_FLAG],
});
try {
  const [edges, controlPlane] = [system.edges.map(({ pid }) => pid), system.controlPlane.pid];
  const floorTarget: Target = { url: bare.url, headers: {} };
  const target: Target = { url: system.url, headers: (await limitedCustomer(system)).headers };
  for (const stream of [false, true]) {
    for (const warmed of [floorTarget, target]) await load(warmed, { stream, calls: WARM_CALLS, connections: AT_ONCE });
    const rounds: Round[] = [];
    const promotedBefore = promoted();
    for (let round = 0; round < ROUNDS; round++) {
      const [floor = 0] = await cost(floorTarget, stream, [[bare.child.pid]]);
      const [edge = 0, control = 0] = await cost(target, stream, [edges, [controlPlane]]);
      rounds.push({ floor, edge, control });
    }
    report(stream, rounds);
    reportPromoted(stream, (promoted() - promotedBefore) / (ROUNDS * CALLS));
  }
} finally {
  await system.stop();
  await Promise.all(started.map((child) => child.stop("SIGKILL")));
  rmSync(folder, { recursive: true, force: true });
}

/** CPU-seconds for 1,000 calls. */
interface Round {
  floor: number;
  edge: number;
  control: number;
}

/** Adjacent measurements see the same other load, so each round has its own ratio, and the median counts. */
function report(stream: boolean, rounds: readonly Round[]): void {
  const ratio = median(rounds.map(({ floor, edge, control }) => (edge + control) / floor));
  const [floor, edge, control] = (["floor", "edge", "control"] as const).map((name) =>
    median(rounds.map((round) => round[name])).toFixed(3),
  );
  const kind = stream ? "streamed" : "whole";
  const figures = `edge ${edge} + control plane ${control} against ${floor} CPU-seconds per 1,000 calls`;
  console.log(`bench-smoke ${kind.padEnd(9)} ${ratio.toFixed(2)} × bare Node + undici (${figures}; guard ${GUARD.toFixed(1)})`);
  if (ratio > GUARD) process.exitCode = 1;
}

function promoted(): number {
  return system.edges.reduce((sum, { stdout }) => sum + promotedBytes(stdout), 0);
}

function reportPromoted(stream: boolean, bytes: number): void {
  const kind = stream ? "streamed" : "whole";
  console.log(`bench-smoke ${kind.padEnd(9)} ${bytes.toFixed(0)} bytes promoted per call (guard ${PROMOTED_MAX})`);
  if (!(bytes <= PROMOTED_MAX)) process.exitCode = 1;
}

async function cost(target: Target, stream: boolean, processes: readonly (readonly number[])[]): Promise<number[]> {
  const used = () => processes.map((pids) => pids.reduce((sum, pid) => sum + cpuSeconds(pid), 0));
  const before = used();
  await load(target, { stream, calls: CALLS, connections: AT_ONCE });
  await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
  return used().map((after, index) => ((after - (before[index] ?? 0)) / CALLS) * 1000);
}
