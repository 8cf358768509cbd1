/** `make bench-store`: figures of the two stores. Prints figures, asserts nothing. ROWS=100000 for a quick run. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SERVICE_NODE_FLAGS } from "../common/node-flags.ts";
import { openEmbeddedStore } from "../control-plane/stores/embedded/store.ts";
import { openMongoStore } from "../control-plane/stores/mongo/store.ts";
import type { Store } from "../control-plane/stores/store.ts";
import { requireMongod, startReplicaSet } from "../test/helpers/mongod.ts";
import { freePort, startProcess } from "../test/helpers/processes.ts";
import { measurePages, measureSettlement } from "./bench/store-figures.ts";

const rows = Number(process.env["ROWS"] ?? 1_000_000);
const mongoRows = Math.min(rows, 60_000);
const organizationId = "org_00000000000000000000000000bench";

const folder = mkdtempSync(join(tmpdir(), "tributary-bench-"));
try {
  await benchEmbedded();
  await benchMongo();
} finally {
  rmSync(folder, { recursive: true, force: true });
}

async function benchEmbedded(): Promise<void> {
  const store = openEmbeddedStore(join(folder, "control-plane"), { keepsRecords: true });
  await printFigures("embedded", store, rows);
  await store.close();
  const rss = await controlPlaneRss();
  print("embedded", `control plane RSS with ${format(rows)} usage rows`, `${rss} MB`, "at most 200 MB");
}

async function benchMongo(): Promise<void> {
  if ((await requireMongod()) === undefined) return;
  const set = await startReplicaSet({ nodes: 1, folder: join(folder, "mongo") });
  const store = await openMongoStore({ uri: set.uri, database: "bench" });
  await printFigures("mongodb", store, mongoRows);
  await store.close();
  await set.stop();
}

async function printFigures(name: string, store: Store, count: number): Promise<void> {
  await measureSettlement(store, { first: 0, rows: Math.min(2000, count), organizationId });
  const settled = await measureSettlement(store, { first: 2000, rows: count - 2000, organizationId });
  const aim = name === "embedded" ? "at least 10,000/s" : "at least 3,000/s";
  print(name, `settlement of ${format(count)} rows in batches of 200`, `${format(settled.rowsPerSecond)}/s`, aim);
  print(name, "event-loop delay p99 while settling", `${settled.loopDelayP99Ms.toFixed(1)} ms`, "at most 50 ms");
  const pages = await measurePages(store, 500);
  print(name, `page of 50 by team and time out of ${format(count)}: p50`, `${pages.p50Ms.toFixed(2)} ms`, "at most 5 ms");
  print(name, `page of 50 by team and time out of ${format(count)}: p99`, `${pages.p99Ms.toFixed(2)} ms`, "");
}

/** Start of the real control plane on that data. */
async function controlPlaneRss(): Promise<number> {
  const env = { DATA_DIR: folder, CONTROL_PORT: String(await freePort()), ADMIN_PASSWORD: "bench-password" };
  const process = startProcess({ entry: "control-plane/main.ts", name: "control plane", env, nodeFlags: SERVICE_NODE_FLAGS });
  await process.ready;
  const [, kilobytes] = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${process.pid}/status`, "utf8")) ?? [];
  await process.stop();
  return Math.round(Number(kilobytes) / 1024);
}

function print(store: string, what: string, figure: string, aim: string): void {
  console.log(`${store.padEnd(9)} ${what.padEnd(62)} ${figure.padStart(12)}   ${aim && `(aim: ${aim})`}`);
}

function format(value: number): string {
  return value.toLocaleString("en-US");
}
