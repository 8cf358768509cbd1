/**
 * `make bench-retention`: fills the embedded store with usage rows of an old month, archives them while calls are settled, and prints the disk before
 * and after, what the settlements waited, and how long a full verification and one from a checkpoint take. A backup's copy is without free pages; then more
 * rows are settled, into the free pages. Fails unless both verifications hold. ROWS changes the size.
 */
import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "../common/clock.ts";
import { silentLogger } from "../common/logger.ts";
import { openFolderObjects } from "../common/objects/folder-objects.ts";
import { Parts } from "../control-plane/archive/parts.ts";
import { UsageArchiver } from "../control-plane/archive/usage-archiver.ts";
import { checkpointWhenDue } from "../control-plane/jobs/checkpoint-ledger.ts";
import { purchase, reportedCall, settle } from "../control-plane/proof/ledger-fixture.ts";
import { Verifications } from "../control-plane/proof/verifications.ts";
import { checkLedger } from "../control-plane/services/ledger/verify.ts";
import { openEmbeddedStore } from "../control-plane/stores/embedded/store.ts";
import { anchorHeads } from "../control-plane/writes/anchors.ts";

const ROWS = Number(process.env["ROWS"] ?? 200_000);
const BATCH = 2_000;
/** What is settled after the archive, to see whether the file grows. */
const MORE_ROWS = Math.min(ROWS, 200_000);
/** What is settled after the last checkpoint. */
const NEWEST_ROWS = Math.ceil(ROWS / 100);
const ORGANIZATIONS = 10;
const [AUGUST, NOVEMBER] = [Date.UTC(2026, 7), Date.UTC(2026, 10, 16)];
const DAY_MS = 24 * 3_600_000;
const CALL_EVERY_MS = 10;
const never = new AbortController().signal;

const folder = mkdtempSync(join(tmpdir(), "tributary-retention-"));
const [dataDir, archiveDir, copyDir] = [join(folder, "store"), join(folder, "archive"), join(folder, "copy")];
const store = openEmbeddedStore(dataDir);
try {
  await fillOrganizations();
  await timed(`${ROWS} rows of August settled`, () => fillRows("august", { count: ROWS, from: AUGUST, days: 30 }));
  printDisk("before");
  const idle = await settledWhile(() => systemClock.sleep(5_000), "idle");
  const parts = new Parts({ objects: openFolderObjects(archiveDir), workFile: join(folder, "part") });
  const archiver = new UsageArchiver({ store, clock: systemClock, logger: silentLogger, parts, config: { usageKeptDays: 30 } });
  const busy = await timed("archived", () => settledWhile(() => archiver.run(NOVEMBER, never), "busy"));
  printDisk("after the archive");
  const copy = await store.snapshot?.(copyDir);
  await copy?.close();
  console.log(`disk of a backup's copy of the store: ${megabytes(copyDir)} MB`);
  printWaits("without the archive", idle);
  printWaits("during the archive", busy);
  await timed("first checkpoint, with the check of all entries", () => checkpoint(NOVEMBER));
  await timed(`${MORE_ROWS} more rows settled`, () => fillRows("november", { count: MORE_ROWS, from: NOVEMBER, days: 1 }));
  printDisk(`with ${MORE_ROWS} new rows`);
  await timed(`next checkpoint, with the check of ${MORE_ROWS} entries`, () => checkpoint(NOVEMBER + 2 * DAY_MS));
  await fillRows("newest", { count: NEWEST_ROWS, from: NOVEMBER + 2 * DAY_MS, days: 1 });
  const fast = await timed(`verification from the checkpoint, ${NEWEST_ROWS} rows later`, () =>
    checkLedger(store, never, { isFast: true }),
  );
  const full = await timed("full verification", () => checkLedger(store, never));
  const { entries, usageRows } = full;
  const isOk = full.ok && fast.ok && fast.checkpoint !== undefined && archiver.figures.rows === ROWS;
  console.log(`ledger: ${isOk ? "ok" : "NOT OK"}, ${entries} entries, ${usageRows} rows in the log, ${archiver.figures.rows} archived`);
  process.exitCode = isOk ? 0 : 1;
} finally {
  await store.close();
  rmSync(folder, { recursive: true, force: true });
}

async function fillOrganizations(): Promise<void> {
  for (let place = 0; place < ORGANIZATIONS; place++) {
    const id = `org_${place}`;
    await store.transaction("every", (tx) =>
      tx.put("organizations", { id, name: id, ownerId: 1, timezone: "UTC", createdAt: AUGUST, updatedAt: AUGUST }),
    );
    await purchase(store, { organizationId: id, amount: BigInt(ROWS) * 10n, reference: `pur_${id}` });
  }
}

/** Rows of a time, spread over days, for one organization after the other. */
async function fillRows(name: string, { count, from, days }: { count: number; from: number; days: number }): Promise<void> {
  for (let start = 0; start < count; start += BATCH) {
    const organizationId = `org_${(start / BATCH) % ORGANIZATIONS}`;
    const rows = Array.from({ length: Math.min(BATCH, count - start) }, (_, place) =>
      reportedCall(`call_${name}_${start + place}`, 1n, {
        organizationId,
        createdAt: from + Math.floor(((start + place) / count) * days * DAY_MS),
      }),
    );
    await settle(store, rows, from);
  }
}

async function checkpoint(at: number): Promise<void> {
  await anchorHeads(store, () => AUGUST);
  const config = { ledgerCheckpointHours: 24 };
  await checkpointWhenDue(at, { store, logger: silentLogger, verifications: new Verifications(), config }, never);
}

/** Settles a call of each organization in turn while the work runs, and returns what each settlement took, in milliseconds. */
async function settledWhile(work: () => Promise<void>, name: string): Promise<number[]> {
  let isDone = false;
  const working = work().finally(() => {
    isDone = true;
  });
  const tookMs: number[] = [];
  for (let call = 0; !isDone; call++) {
    const begunMs = performance.now();
    await settle(
      store,
      [reportedCall(`call_${name}_${call}`, 1n, { organizationId: `org_${call % ORGANIZATIONS}`, createdAt: NOVEMBER })],
      NOVEMBER,
    );
    tookMs.push(performance.now() - begunMs);
    await systemClock.sleep(CALL_EVERY_MS);
  }
  await working;
  return tookMs.sort((left, right) => left - right);
}

function printWaits(when: string, tookMs: readonly number[]): void {
  const at = (part: number) => (tookMs[Math.min(tookMs.length - 1, Math.floor(tookMs.length * part))] ?? 0).toFixed(1);
  console.log(`a settlement ${when}: ${tookMs.length} calls, median ${at(0.5)} ms, 99 % within ${at(0.99)} ms, longest ${at(1)} ms`);
}

function printDisk(when: string): void {
  console.log(`disk ${when}: store ${megabytes(dataDir)} MB, archive ${megabytes(archiveDir)} MB`);
}

function megabytes(path: string): string {
  const names = statSync(path, { throwIfNoEntry: false }) ? readdirSync(path, { recursive: true, encoding: "utf8" }) : [];
  // Blocks, because LMDB's file may have holes.
  return ((names.reduce((sum, name) => sum + statSync(join(path, name)).blocks, 0) * 512) / 1e6).toFixed(1);
}

async function timed<Result>(what: string, work: () => Promise<Result>): Promise<Result> {
  const begunMs = performance.now();
  const result = await work();
  console.log(`${what}: ${((performance.now() - begunMs) / 1000).toFixed(1)} s`);
  return result;
}
