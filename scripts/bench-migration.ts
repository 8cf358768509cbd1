/**
 * `make bench-migration`: a ledger in the layout before slots, with a million entries in the embedded store and fewer in MongoDB, is migrated.
 * Prints the seconds, and fails unless `verify` says the same before and after. ENTRIES and MONGO_ENTRIES change the size.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { CLOSED_HEAD } from "../control-plane/domain/ledger.ts";
import { LEDGER_COLLECTIONS, purchase, reportedCall, settle } from "../control-plane/proof/ledger-fixture.ts";
import { checkLedger } from "../control-plane/services/ledger/verify.ts";
import { openEmbeddedStore } from "../control-plane/stores/embedded/store.ts";
import { migrate } from "../control-plane/stores/migrations/migrate.ts";
import { openMongoStore } from "../control-plane/stores/mongo/store.ts";
import type { Store } from "../control-plane/stores/store.ts";
import { requireMongod, startReplicaSet } from "../test/helpers/mongod.ts";

const entries = Number(process.env["ENTRIES"] ?? 1_000_000);
const mongoEntries = Math.min(entries, Number(process.env["MONGO_ENTRIES"] ?? 60_000));
const BATCH = 1_000;
const ORGANIZATIONS = 50;
const never = new AbortController().signal;

const folder = mkdtempSync(join(tmpdir(), "tributary-migration-"));
try {
  const embedded = await migrateEmbedded();
  const mongo = await migrateMongo();
  process.exitCode = embedded && mongo ? 0 : 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}

async function migrateEmbedded(): Promise<boolean> {
  const store = openEmbeddedStore(join(folder, "million"));
  await timed(`embedded: ${entries} entries made`, () => fill(store, entries));
  await timed("embedded: laid out as before slots", () => layOutAsBefore(store));
  const isEqual = await migrateChecked("embedded", store);
  await store.close();
  return isEqual;
}

async function migrateMongo(): Promise<boolean> {
  if (!(await requireMongod())) return true;
  const set = await startReplicaSet({ nodes: 1, folder: join(folder, "mongo") });
  const source = openEmbeddedStore(join(folder, "source"));
  const store = await openMongoStore({ uri: set.uri, database: "migrated", transactionMs: 60_000, readMs: 60_000, socketMs: 60_000 });
  try {
    await fill(source, mongoEntries);
    await layOutAsBefore(source);
    await timed(`MongoDB: ${mongoEntries} entries copied`, () => copyLedger(source, store));
    return await migrateChecked("MongoDB", store);
  } finally {
    await Promise.all([source.close(), store.close()]);
    await set.stop();
  }
}

/** A purchase and its calls for one organization after the other; every call and every purchase is an entry. */
async function fill(store: Store, count: number): Promise<void> {
  for (let start = 0; start < count; start += BATCH) {
    const organizationId = `org_${(start / BATCH) % ORGANIZATIONS}`;
    await purchase(store, { organizationId, amount: BigInt(BATCH), reference: `pur_${start}` });
    const calls = Array.from({ length: Math.min(BATCH, count - start) - 1 }, (_, place) =>
      reportedCall(`call_${start + place}`, 1n, { organizationId }),
    );
    await settle(store, calls);
  }
}

/** The chain of a store with one slot is the chain before slots, under another name. */
async function layOutAsBefore(store: Store): Promise<void> {
  await store.transaction("every", async (tx) => {
    const head = await tx.get("ledgerHead", "0");
    if (!head) throw new Error("the ledger must have entries");
    await tx.remove("ledgerHead", "0");
    await tx.put("ledgerHead", { ...head, id: CLOSED_HEAD });
    await tx.put("settings", { id: "schema", value: "1" });
  });
}

async function copyLedger(source: Store, target: Store): Promise<void> {
  for (const name of [...LEDGER_COLLECTIONS, "ledgerHead", "settings"] as const) await copyRecords(source, target, name);
}

async function copyRecords(
  source: Store,
  target: Store,
  name: (typeof LEDGER_COLLECTIONS)[number] | "ledgerHead" | "settings",
): Promise<void> {
  let batch: Parameters<Parameters<Parameters<Store["transaction"]>[1]>[0]["insertNew"]>[1][number][] = [];
  const flush = async () => {
    const records = batch;
    batch = [];
    if (records.length > 0) await target.transaction("every", async (tx) => tx.insertNew(name, records as never));
  };
  for await (const record of source.scan(name)) {
    batch.push(record);
    if (batch.length >= BATCH) await flush();
  }
  await flush();
}

async function migrateChecked(name: string, store: Store): Promise<boolean> {
  const before = await timed(`${name}: verify before`, () => checkLedger(store, never));
  const { from, to } = await timed(`${name}: migration`, () => migrate(store));
  const after = await timed(`${name}: verify after`, () => checkLedger(store, never));
  const isEqual = before.ok && isDeepStrictEqual(before, after);
  console.log(
    `${name}: schema ${from} → ${to}, ${before.entries} entries, last ${before.lastSeq}, verify ${isEqual ? "equal" : "NOT EQUAL"}`,
  );
  if (!isEqual) console.log(before, after);
  return isEqual;
}

async function timed<Result>(what: string, work: () => Promise<Result>): Promise<Result> {
  const beganMs = performance.now();
  const result = await work();
  console.log(`${what}: ${((performance.now() - beganMs) / 1000).toFixed(2)} s`);
  return result;
}
