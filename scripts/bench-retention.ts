/**
 * `make bench-retention`: fills the embedded store with usage rows of an old month, archives them while calls are settled, and prints the disk before
 * and after, and what the settlements waited. A backup's copy is without free pages; then as many rows are settled again, into the free pages. Fails unless the ledger verifies. ROWS changes the size.
 */
import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "../common/clock.ts";
import { silentLogger } from "../common/logger.ts";
import { openFolderObjects } from "../common/objects/folder-objects.ts";
import { Parts } from "../control-plane/archive/parts.ts";
import { UsageArchiver } from "../control-plane/archive/usage-archiver.ts";
import { purchase, reportedCall, settle } from "../control-plane/proof/ledger-fixture.ts";
import { checkLedger } from "../control-plane/services/ledger/verify.ts";
import { openEmbeddedStore } from "../control-plane/stores/embedded/store.ts";

const ROWS = Number(process.env["ROWS"] ?? 200_000);
const BATCH = 1_000;
const ORGANIZATIONS = 10;
const [AUGUST, NOVEMBER] = [Date.UTC(2026, 7), Date.UTC(2026, 10, 16)];
const MONTH_MS = 30 * 24 * 3_600_000;
const CALL_EVERY_MS = 10;
const never = new AbortController().signal;

const folder = mkdtempSync(join(tmpdir(), "tributary-retention-"));
const [dataDir, archiveDir, copyDir] = [join(folder, "store"), join(folder, "archive"), join(folder, "copy")];
const store = openEmbeddedStore(dataDir);
try {
  await fillOrganizations();
  await timed(`${ROWS} rows of August settled`, () => fillRows("august", AUGUST));
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
  await timed(`${ROWS} more rows settled`, () => fillRows("november", NOVEMBER));
  printDisk("with as many new rows");
  const { ok, entries, usageRows } = await timed("verification", () => checkLedger(store, never));
  console.log(`ledger: ${ok ? "ok" : "NOT OK"}, ${entries} entries, ${usageRows} rows in the log, ${archiver.figures.rows} archived`);
  process.exitCode = ok && archiver.figures.rows === ROWS ? 0 : 1;
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

/** Rows of a time, spread over a month, for one organization after the other. */
async function fillRows(name: string, from: number): Promise<void> {
  for (let start = 0; start < ROWS; start += BATCH) {
    const organizationId = `org_${(start / BATCH) % ORGANIZATIONS}`;
    const rows = Array.from({ length: Math.min(BATCH, ROWS - start) }, (_, place) =>
      reportedCall(`call_${name}_${start + place}`, 1n, {
        organizationId,
        createdAt: from + Math.floor(((start + place) / ROWS) * MONTH_MS),
      }),
    );
    await settle(store, rows, from);
  }
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
