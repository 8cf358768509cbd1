import type { VerifyLedgerResponse } from "../../proto/gen/tributary/ledger/v1/ledger.ts";
import { checkAudit } from "../proof/check-audit.ts";
import { checkLedger } from "../services/ledger/verify.ts";
import { blobName } from "../services/records/content.ts";
import { COLLECTION_NAMES, type CollectionName, type IndexValue } from "../stores/collections.ts";
import { divideLedger } from "../stores/migrations/0002-ledger-slots.ts";
import { migrate } from "../stores/migrations/migrate.ts";
import { collect } from "../stores/page.ts";
import type { Store } from "../stores/store.ts";
import { ToolProblem } from "../tools/tool.ts";
import { divideCounters } from "../writes/counters.ts";
import { endPosition, type Position, readPosition, writePosition } from "./position.ts";

/** Rows of one transaction where they are large; others have as many as the store takes. */
const LARGE_ROWS: { readonly [Name in CollectionName]?: number } = { records: 50, idempotency: 100 };

/** A copy of the source's last transaction, which must stay the same. */
export interface PromoteOptions {
  /** The embedded store, which no other process may write to. */
  readonly source: Store & { readonly lastTransaction: number };
  readonly target: Store;
  readonly progress: (state: { readonly collection: string; readonly copied: number }) => void;
  readonly signal: AbortSignal;
}

/** Both stores after the copy. */
export interface Promoted {
  readonly records: number;
  readonly blobs: number;
  readonly source: VerifyLedgerResponse;
  readonly target: VerifyLedgerResponse;
}

/**
 * Copies all records and blobs into an empty store, collection by collection in the order of ids. After a kill at any point the next run goes
 * on where the last committed transaction ended. At the end numbers of records, ledgers and audit logs of both stores are compared.
 */
export async function promote(options: PromoteOptions): Promise<Promoted> {
  const { source, target } = options;
  let position = await begin(options);
  if (position.phase === "records") position = await copyRecords(options, position);
  if (position.phase === "blobs") position = await copyBlobs(options, position);
  if (source.lastTransaction !== position.transaction) throw changed();
  await migrate(target);
  await target.transaction("every", divideCounters);
  await target.transaction("every", divideLedger);
  const promoted = await compare(options);
  await target.transaction("settings", endPosition);
  return promoted;
}

const changed = (): ToolProblem =>
  new ToolProblem(
    "The folder was written to since the copy began. Drop the database and run the command again, without a platform on the folder.",
  );

async function begin({ source, target }: PromoteOptions): Promise<Position> {
  const from = (await source.get("settings", "secret-key-fingerprint"))?.value ?? "";
  const known = await readPosition(target);
  if (!known) {
    await requireEmpty(target);
    const first: Position = { source: from, transaction: source.lastTransaction, phase: "records" };
    await target.transaction("settings", (tx) => writePosition(tx, first));
    return first;
  }
  if (known.source !== from) throw new ToolProblem("The database has an unfinished copy of another folder. Use another database.");
  if (known.transaction !== source.lastTransaction) throw changed();
  return known;
}

async function requireEmpty(target: Store): Promise<void> {
  for (const collection of COLLECTION_NAMES) {
    if ((await target.count(collection, { limit: 1 })) > 0) {
      throw new ToolProblem(`The database is not empty: it has ${collection}. Use another database; nothing was changed.`);
    }
  }
}

async function copyRecords(options: PromoteOptions, begun: Position): Promise<Position> {
  const first = begun.collection === undefined ? 0 : COLLECTION_NAMES.indexOf(begun.collection as CollectionName);
  if (first < 0) throw new ToolProblem(`The copy was begun by another release, which has ${begun.collection}. Go on with that release.`);
  let position = begun;
  for (const collection of COLLECTION_NAMES.slice(first)) {
    const after = collection === position.collection ? position.after : undefined;
    position = await copyCollection(options, { ...without(position), collection, ...(after === undefined ? {} : { after }) });
  }
  await requireSameCounts(options);
  const next: Position = { ...without(position), phase: "blobs" };
  await options.target.transaction("settings", (tx) => writePosition(tx, next));
  return next;
}

/** The position without a place in the phase. */
const without = ({ source, transaction, phase }: Position): Position => ({ source, transaction, phase });

async function copyCollection(options: PromoteOptions, begun: Position): Promise<Position> {
  const { source, target, progress, signal } = options;
  const collection = begun.collection as CollectionName;
  const limit = LARGE_ROWS[collection] ?? target.rowsPerTransaction;
  let position = begun;
  for (let copied = 0; ; ) {
    signal.throwIfAborted();
    const { after } = position;
    const rows = await collect(source.scan(collection, { limit, ...(after === undefined ? {} : { after: [after] }) }));
    const last: { id: IndexValue } | undefined = rows.at(-1);
    if (!last) return position;
    position = { ...position, after: last.id };
    await target.transaction("every", async (tx) => {
      tx.insertNew(collection, rows);
      await writePosition(tx, position);
    });
    copied += rows.length;
    progress({ collection, copied });
  }
}

async function requireSameCounts({ source, target }: PromoteOptions): Promise<void> {
  for (const collection of COLLECTION_NAMES) {
    // The target also has the position of the copy.
    const [expected, found] = [await source.count(collection), (await target.count(collection)) - (collection === "settings" ? 1 : 0)];
    if (expected !== found)
      throw new ToolProblem(`The database has ${found} ${collection}, the folder ${expected}. Drop it and begin again.`);
  }
}

/** Contents of files. A blob that is copied twice is replaced by itself. */
async function copyBlobs(options: PromoteOptions, begun: Position): Promise<Position> {
  const { source, target, progress, signal } = options;
  let position = begun;
  let copied = 0;
  for await (const { id } of source.scan("contents", begun.after === undefined ? {} : { after: [begun.after] })) {
    signal.throwIfAborted();
    const content = await source.blobs.get(blobName(id));
    // An upload that has not ended, or failed, has a row without a blob.
    if (content) await target.blobs.put(blobName(id), content);
    position = { ...position, after: id };
    await target.transaction("settings", (tx) => writePosition(tx, position));
    progress({ collection: "blobs", copied: ++copied });
  }
  const next: Position = { ...without(position), phase: "copied" };
  await target.transaction("settings", (tx) => writePosition(tx, next));
  return next;
}

async function compare({ source, target, signal }: PromoteOptions): Promise<Promoted> {
  const [ledgers, audits] = [
    { source: await checkLedger(source, signal), target: await checkLedger(target, signal) },
    { source: await checkAudit(source, signal), target: await checkAudit(target, signal) },
  ];
  const proofs = Object.entries({ source: ledgers.source, target: ledgers.target });
  for (const [name, { ok, firstBad }] of proofs) {
    if (!ok) throw new ToolProblem(`The ledger of the ${name} is not valid: ${firstBad?.record ?? "sum"} ${firstBad?.reason ?? ""}`);
  }
  for (const field of ["sum", "entries", "lastSeq", "hash", "accounts", "usageRows", "rollups"] as const) {
    const [expected, found] = [ledgers.source[field], ledgers.target[field]];
    if (expected !== found)
      throw new ToolProblem(`The ledgers differ: ${field} is ${found} in the database and ${expected} in the folder.`);
  }
  const [end, closed] = [await endOfChain(source), await endOfChain(target)];
  if (end !== closed) throw new ToolProblem(`The ledgers differ: the chain ends with ${closed} in the database and ${end} in the folder.`);
  if (audits.target.fault ?? audits.source.head.hash !== audits.target.head.hash) throw new ToolProblem("The audit logs differ.");
  let records = 0;
  for (const collection of COLLECTION_NAMES) records += await source.count(collection);
  return { records, blobs: await source.count("contents"), ...ledgers };
}

/** The last hash of the only chain of a store of one slot, or of the closed chain of a store of many. */
async function endOfChain(store: Store): Promise<string | undefined> {
  return ((await store.get("ledgerHead", "head")) ?? (await store.get("ledgerHead", "0")))?.hash;
}
