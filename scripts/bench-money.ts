/** `make bench-money`: the cost of leases and journal. Prints figures, asserts nothing. */
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

const folder = mkdtempSync(join(tmpdir(), "tributary-bench-money-"));
try {
  await benchJournal("process", { calls: 50_000, waitAim: "at most 0.05 ms" });
  await benchJournal("disk", { calls: 20_000, waitAim: "at most 2 ms" });
  const { tookMs, records } = await measureReplay(join(folder, "replay"), 100_000);
  print(`replay of ${format(records)} records`, `${(tookMs / 1000).toFixed(2)} s`, "at most 1.5 s");
  await benchEmbedded();
  await benchMongo();
} finally {
  rmSync(folder, { recursive: true, force: true });
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
  const store = openEmbeddedStore(join(folder, "embedded"));
  await printSettlement("embedded", store, { rows: 60_000, aim: "at least 10,000/s" });
  for (const callsPerMs of [0.2, 1]) {
    const calls = callsPerMs * 5000;
    const figures = await measureRpcs(openEmbeddedStore(join(folder, `rpcs-${calls}`)), {
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
  const store = await openMongoStore({ uri: set.uri, database: "bench" });
  await printSettlement("MongoDB, three nodes", store, { rows: 20_000, aim: "at least 3,000/s" });
  await store.close();
  await printPlanes(set.uri);
  await set.stop();
}

async function printSettlement(name: string, store: Store, { rows, aim }: { rows: number; aim: string }): Promise<void> {
  const organizationId = "org_00000000000000000000000000bench";
  await measureSettlement(store, { first: 0, rows: 2000, organizationId });
  const { rowsPerSecond, cpuSeconds } = await measureSettlement(store, { first: 2000, rows, organizationId });
  print(`settlement, ${name}: ${format(rows)} calls in batches of 200`, `${format(rowsPerSecond)}/s`, aim);
  print(`settlement, ${name}: CPU of the control plane for 1,000 calls`, `${cpuSeconds.toFixed(3)} s`, "");
}

/** What more planes add. On a machine with as few cores as planes, the rates show little; CPU and attempts show whether planes wait for each other. */
async function printPlanes(uri: string): Promise<void> {
  for (const planes of [1, 2, 3]) {
    const figures = await measurePlanes(uri, { planes, rows: 8_000, grants: 400 });
    const name = `${planes} control plane${planes > 1 ? "s" : ""}`;
    print(`settlement, ${name}: calls`, `${format(figures.rowsPerSecond)}/s`, "");
    print(`settlement, ${name}: CPU for 1,000 calls`, `${figures.cpuSeconds.toFixed(3)} s`, "within 10 % of one");
    print(`lease grants, ${name}`, `${format(figures.grantsPerSecond)}/s`, "");
    print(`attempts for each transaction, ${name}`, figures.attempts.toFixed(3), "at most 1.02");
  }
}

function print(what: string, figure: string, aim: string): void {
  console.log(`${what.padEnd(64)} ${figure.padStart(12)}   ${aim && `(aim: ${aim})`}`);
}

function format(value: number): string {
  return value.toLocaleString("en-US");
}
