/**
 * `make bench-money`: the cost of leases and journal, and what more control planes add. Prints figures, and fails only by what is counted: two planes that write
 * one document, or more than 1.02 attempts for a transaction. ONLY=planes measures the planes alone, in ROUNDS rounds (7).
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openEmbeddedStore } from "../control-plane/stores/embedded/store.ts";
import { openMongoStore } from "../control-plane/stores/mongo/store.ts";
import type { Store } from "../control-plane/stores/store.ts";
import { requireMongod, startReplicaSet } from "../test/helpers/mongod.ts";
import { measureReplay, measureThroughput, measureWaits, openBenchJournal } from "./bench/journal-figures.ts";
import { measurePlanes } from "./bench/planes-figures.ts";
import { measureRpcs } from "./bench/rpc-figures.ts";
import { measureSettlement } from "./bench/store-figures.ts";

const ONLY = process.env["ONLY"];
const ROUNDS = Number(process.env["ROUNDS"] ?? 7);
const ATTEMPTS_MAX = 1.02;

const folder = mkdtempSync(join(tmpdir(), "tributary-bench-money-"));
try {
  if (ONLY !== "planes") await benchOne();
  await benchMongo();
} finally {
  rmSync(folder, { recursive: true, force: true });
}

async function benchOne(): Promise<void> {
  await benchJournal("process", { calls: 50_000, waitAim: "at most 0.05 ms" });
  await benchJournal("disk", { calls: 20_000, waitAim: "at most 2 ms" });
  const { tookMs, records } = await measureReplay(join(folder, "replay"), 100_000);
  print(`replay of ${format(records)} records`, `${(tookMs / 1000).toFixed(2)} s`, "at most 1.5 s");
  await benchEmbedded();
}

async function benchJournal(sync: "process" | "disk", { calls, waitAim }: { calls: number; waitAim: string }): Promise<void> {
  const journal = await openBenchJournal(join(folder, sync), sync);
  await measureThroughput(journal, { calls: 2000, atOnce: 100 });
  const recordsPerSecond = await measureThroughput(journal, { calls, atOnce: 200 });
  print(`journal, ${sync}: records of 200 calls at once`, `${format(recordsPerSecond)}/s`, "at least 20,000/s");
  for (const callsPerMs of [0.5, 5]) {
    const { p50Ms, p99Ms } = await measureWaits(journal, { calls: callsPerMs * 3000, callsPerMs });
    const what = `journal, ${sync}: wait for a final at ${format(callsPerMs * 4000)} records/s`;
    print(`${what}, p50`, `${p50Ms.toFixed(3)} ms`, waitAim);
    print(`${what}, p99`, `${p99Ms.toFixed(3)} ms`, sync === "disk" ? "at most 20 ms" : "");
  }
  await journal.close();
}

async function benchEmbedded(): Promise<void> {
  const store = openEmbeddedStore(join(folder, "embedded"), { keepsRecords: true });
  await printSettlement("embedded", store, { rows: 60_000, aim: "at least 10,000/s" });
  for (const callsPerMs of [0.2, 1]) {
    const calls = callsPerMs * 5000;
    const figures = await measureRpcs(openEmbeddedStore(join(folder, `rpcs-${calls}`), { keepsRecords: true }), {
      folder: join(folder, `journal-${calls}`),
      calls,
      callsPerMs,
    });
    const rate = `${format(callsPerMs * 1000)} calls/s`;
    print(`RPCs that a call waits for, at ${rate}`, (figures.waited / calls).toFixed(4), "0");
    const behind = `${figures.leases} leases, ${figures.batches} batches`;
    print(`RPCs behind its back: ${behind} for ${format(calls)} calls`, ((figures.leases + figures.batches) / calls).toFixed(4), "about 0");
  }
  await store.close();
}

async function benchMongo(): Promise<void> {
  if ((await requireMongod()) === undefined) return;
  const set = await startReplicaSet({ nodes: 3, folder: join(folder, "mongo") });
  try {
    if (ONLY !== "planes") await benchMongoStore(set.uri);
    await printPlanes(set.uri);
  } finally {
    await set.stop();
  }
}

async function benchMongoStore(uri: string): Promise<void> {
  const store = await openMongoStore({ uri, database: "bench" });
  await printSettlement("MongoDB, three nodes", store, { rows: 20_000, aim: "at least 3,000/s" });
  await store.close();
}

async function printSettlement(name: string, store: Store, { rows, aim }: { rows: number; aim: string }): Promise<void> {
  const organizationId = "org_00000000000000000000000000bench";
  await measureSettlement(store, { first: 0, rows: 2000, organizationId });
  const { rowsPerSecond, cpuSeconds } = await measureSettlement(store, { first: 2000, rows, organizationId });
  print(`settlement, ${name}: ${format(rows)} calls in batches of 200`, `${format(rowsPerSecond)}/s`, aim);
  print(`settlement, ${name}: CPU of the control plane for 1,000 calls`, `${cpuSeconds.toFixed(3)} s`, "");
}

/** What more planes add. On a machine with as few cores as planes, the rates show little; CPU of planes in turn, attempts and documents show whether planes wait for each other. */
async function printPlanes(uri: string): Promise<void> {
  const work = { rounds: ROUNDS, rows: 4_000, grants: 640, warmRows: 12_000 };
  for (const figures of await measurePlanes({ uri, configurations: [1, 2, 3], ...work })) {
    const name = `${figures.planes} control plane${figures.planes > 1 ? "s" : ""}`;
    print(`settlement, ${name}: calls`, `${format(figures.rowsPerSecond)}/s`, "");
    print(`lease grants, ${name}`, `${format(figures.grantsPerSecond)}/s`, "");
    print(`settlement, ${name}: CPU for 1,000 calls`, `${figures.cpuSeconds.toFixed(3)} s`, "");
    if (figures.planes > 1) {
      print(`settlement, ${name}: that CPU over the one of 1`, figures.cpuRatio.toFixed(3), "at most 1.10");
      print(`settlement, ${name}: the same, all at once on these cores`, figures.cpuRatioAtOnce.toFixed(3), "");
    }
    print(`attempts for each transaction, ${name}`, figures.attempts.toFixed(3), `at most ${ATTEMPTS_MAX}`);
    if (figures.planes > 1)
      print(`documents of ${format(figures.written)} that two of ${name} wrote`, `${figures.writtenByTwo.length}`, "0");
    for (const key of figures.writtenByTwo) console.log(`  written by two: ${key}`);
    if (figures.writtenByTwo.length > 0 || !(figures.attempts <= ATTEMPTS_MAX)) process.exitCode = 1;
  }
}

function print(what: string, figure: string, aim: string): void {
  console.log(`${what.padEnd(64)} ${figure.padStart(12)}   ${aim && `(aim: ${aim})`}`);
}

function format(value: number): string {
  return value.toLocaleString("en-US");
}
