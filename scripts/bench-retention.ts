/**
 * `make bench-retention`: fills the embedded store with usage rows of an old month, archives them while calls are settled, and prints the disk before
 * and after, what the settlements waited, and how long a full verification and one from a checkpoint take. A backup's copy is without free pages; then more
 * rows are settled, into the free pages. Fails unless both verifications hold. ROWS changes the size. With FOLDER the store is made there and stays; a
 * later run with the same FOLDER and ROWS goes on where the last one ended. UNTIL=filled ends before the archive, UNTIL=archived after it.
 */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "../common/clock.ts";
import { silentLogger } from "../common/logger.ts";
import { openFolderObjects } from "../common/objects/folder-objects.ts";
import { Parts } from "../control-plane/archive/parts.ts";
import { UsageArchiver } from "../control-plane/archive/usage-archiver.ts";
import type { UsageRow } from "../control-plane/domain/records.ts";
import { checkpointWhenDue } from "../control-plane/jobs/checkpoint-ledger.ts";
import { purchase, reportedCall, settle } from "../control-plane/proof/ledger-fixture.ts";
import { Verifications } from "../control-plane/proof/verifications.ts";
import { checkLedger } from "../control-plane/services/ledger/verify.ts";
import { openEmbeddedStore } from "../control-plane/stores/embedded/store.ts";
import { collect } from "../control-plane/stores/page.ts";
import { anchorHeads } from "../control-plane/writes/anchors.ts";
import { callIdAt } from "./bench/call-ids.ts";

const ROWS = Number(process.env["ROWS"] ?? 200_000);
const [FOLDER, UNTIL] = [process.env["FOLDER"], process.env["UNTIL"]];
const BATCH = 2_000;
/** Batches on their way: while one is flushed to the disk, the next is made. */
const BATCHES_AT_ONCE = 3;
/** What is settled after the archive, to see whether the file grows. */
const MORE_ROWS = Math.min(ROWS, 200_000);
/** What is settled after the last checkpoint. */
const NEWEST_ROWS = Math.min(Math.ceil(ROWS / 100), 10_000);
const ORGANIZATIONS = 10;
const [AUGUST, NOVEMBER] = [Date.UTC(2026, 7), Date.UTC(2026, 10, 16)];
const DAY_MS = 24 * 3_600_000;
const CALL_EVERY_MS = 10;
const never = new AbortController().signal;

const folder = FOLDER ?? mkdtempSync(join(tmpdir(), "tributary-retention-"));
const [dataDir, archiveDir, copyDir] = [join(folder, "store"), join(folder, "archive"), join(folder, "copy")];
const filledFile = join(folder, "filled");
mkdirSync(folder, { recursive: true });
const store = openEmbeddedStore(dataDir);
try {
  await fill();
  printDisk("before");
  if (UNTIL !== "filled") await archive();
  if (UNTIL === undefined) await verify();
} finally {
  await store.close();
  if (FOLDER === undefined) rmSync(folder, { recursive: true, force: true });
}

/** A run that was ended early is continued: settling a batch a second time changes nothing. */
async function fill(): Promise<void> {
  const filled = Number(statSync(filledFile, { throwIfNoEntry: false }) ? readFileSync(filledFile, "utf8") : 0);
  if (filled === 0) await fillOrganizations();
  if (filled >= ROWS) return;
  const rows = { count: ROWS, first: filled, from: AUGUST, days: 30 };
  await timed(`${ROWS - filled} rows of August settled`, () => fillRows(rows, (count) => writeFileSync(filledFile, String(count))));
}

async function archive(): Promise<void> {
  const idle = await settledWhile(() => systemClock.sleep(5_000), "idle");
  const parts = new Parts({ objects: openFolderObjects(archiveDir), workFile: join(folder, "part") });
  const archiver = new UsageArchiver({ store, clock: systemClock, logger: silentLogger, parts, config: { usageKeptDays: 30 } });
  const memory = watchMemory();
  const cpuBefore = process.cpuUsage();
  const busy = await timed("archived", () => settledWhile(() => archiver.run(NOVEMBER, never), "busy"));
  const { user, system } = process.cpuUsage(cpuBefore);
  console.log(
    `CPU for 100,000 archived rows, with the settlements meanwhile: ${((user + system) / 10 / archiver.figures.rows).toFixed(1)} s`,
  );
  console.log(`rows archived: ${archiver.figures.rows}; memory of the process, without the pages of the store: at most ${memory.end()} MB`);
  printDisk("after the archive");
  printWaits("without the archive", idle);
  printWaits("during the archive", busy);
}

async function verify(): Promise<void> {
  rmSync(copyDir, { recursive: true, force: true });
  const copy = await timed("copied for a backup", async () => store.snapshot?.(copyDir));
  await copy?.close();
  console.log(`disk of a backup's copy of the store: ${megabytes(copyDir)} MB`);
  await timed("first checkpoint, with the check of all entries", () => checkpoint(NOVEMBER));
  await timed(`${MORE_ROWS} more rows settled`, () => fillRows({ count: MORE_ROWS, from: NOVEMBER, days: 1 }));
  printDisk(`with ${MORE_ROWS} new rows`);
  await timed(`next checkpoint, with the check of ${MORE_ROWS} entries`, () => checkpoint(NOVEMBER + 2 * DAY_MS));
  await fillRows({ count: NEWEST_ROWS, from: NOVEMBER + 2 * DAY_MS, days: 1 });
  const fast = await timed(`verification from the checkpoint, ${NEWEST_ROWS} rows later`, () =>
    checkLedger(store, never, { isFast: true }),
  );
  const full = await timed("full verification", () => checkLedger(store, never));
  const archived = (await collect(store.scan("usageArchives"))).reduce((sum, { rows }) => sum + rows, 0);
  const isOk = full.ok && fast.ok && fast.checkpoint !== undefined && archived === ROWS;
  console.log(`ledger: ${isOk ? "ok" : "NOT OK"}, ${full.entries} entries, ${full.usageRows} rows in the log, ${archived} archived`);
  process.exitCode = isOk ? 0 : 1;
}

/** The largest heap with its buffers so far. The pages of LMDB's file, which the system can take back, are not counted. */
function watchMemory(): { end(): number } {
  let most = 0;
  const timer = setInterval(() => {
    const { heapTotal, external } = process.memoryUsage();
    most = Math.max(most, heapTotal + external);
  }, 1_000);
  return {
    end: () => {
      clearInterval(timer);
      return Math.round(most / 1e6);
    },
  };
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

interface Rows {
  readonly count: number;
  /** How many are there already. */
  readonly first?: number;
  readonly from: number;
  readonly days: number;
}

/** Rows of a time, spread over days, for one organization after the other. */
async function fillRows(rows: Rows, onFilled: (count: number) => void = () => undefined): Promise<void> {
  const { count, first = 0, from } = rows;
  const settling: Promise<unknown>[] = [];
  for (let start = first; start < count; start += BATCH) {
    settling.push(settle(store, batchOf(start, rows), from));
    if (settling.length < BATCHES_AT_ONCE) continue;
    await settling.shift();
    onFilled(start - (BATCHES_AT_ONCE - 2) * BATCH);
  }
  await Promise.all(settling);
  onFilled(count);
}

function batchOf(start: number, { count, from, days }: Rows): UsageRow[] {
  const organizationId = `org_${(start / BATCH) % ORGANIZATIONS}`;
  return Array.from({ length: Math.min(BATCH, count - start) }, (_, place) => {
    const createdAt = from + Math.floor(((start + place) / count) * days * DAY_MS);
    return reportedCall(callIdAt(createdAt, start + place), 1n, { organizationId, createdAt });
  });
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
