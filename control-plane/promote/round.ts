import { blobName } from "../services/records/content.ts";
import { COLLECTION_NAMES, type CollectionName, type IndexValue, type Records } from "../stores/collections.ts";
import type { FileStore } from "../stores/file-store.ts";
import { readAhead } from "../stores/read-ahead.ts";
import type { Store, Transaction } from "../stores/store.ts";
import { ToolProblem } from "../tools/tool.ts";
import { FOLDER_SETTINGS } from "./mark.ts";
import { advance, inPhase, type Position } from "./position.ts";

/** Rows of one transaction where they are large; others have as many as the store takes. */
const LARGE_ROWS: { readonly [Name in CollectionName]?: number } = { records: 50, idempotency: 100 };

/** What a round brings the target from and to. */
export interface Round {
  /** What the target has; undefined if that is nothing. */
  readonly base: FileStore | undefined;
  readonly next: FileStore;
  readonly target: Store;
  /** When all records are there. */
  readonly check: () => Promise<unknown>;
  readonly progress: (state: { readonly collection: string; readonly copied: number }) => void;
  readonly signal: AbortSignal;
}

/**
 * Makes the target equal to `next`. Records that changed are removed first and inserted again, in two passes: so no unique value is taken by
 * a record that is about to give it up, and an inserted record that exists already is an error and not a wrong record.
 */
export async function runRound(round: Round, begun: Position): Promise<Position> {
  let position = begun;
  if (position.phase === "removals") position = await everyCollection(round, position, removals);
  if (position.phase === "records") position = await everyCollection(round, position, insertions);
  if (position.phase === "blobs") position = await copyBlobs(round, position);
  return position;
}

/** One way through a collection: the records that differ, and what is done with some of them. */
interface Pass {
  readonly nextPhase: Position["phase"];
  find<Name extends CollectionName>(round: Round, collection: Name, after: IndexValue | undefined): AsyncIterable<Records[Name]>;
  apply<Name extends CollectionName>(tx: Transaction, collection: Name, rows: readonly Records[Name][]): Promise<void>;
  /** Before the transaction; may be repeated. */
  prepare?(round: Round, collection: CollectionName, ids: readonly IndexValue[]): Promise<void>;
  /** After all collections. */
  end?(round: Round): Promise<unknown>;
}

const rangeAfter = (after: IndexValue | undefined) => (after === undefined ? {} : { after: [after] });

const removals: Pass = {
  nextPhase: "records",
  find: ({ base, next }, collection, after) => base?.differing(collection, next, rangeAfter(after)) ?? nothing(),
  prepare: async ({ next, target }, collection, ids) => {
    if (collection !== "contents") return;
    for (const id of ids) if (!(await next.get("contents", id))) await target.blobs.remove(blobName(String(id)));
  },
  apply: async (tx, collection, rows) => {
    const ids = rows.map(idOf);
    await tx.getMany(collection, ids);
    for (const id of ids) await tx.remove(collection, id);
  },
};

const insertions: Pass = {
  nextPhase: "blobs",
  find: ({ base, next }, collection, after) => next.differing(collection, base, rangeAfter(after)),
  apply: async (tx, collection, rows) => tx.insertNew(collection, rows),
  end: ({ check }) => check(),
};

const idOf = (record: object): IndexValue => (record as { id: IndexValue }).id;

async function* nothing(): AsyncGenerator<never> {}

async function everyCollection(round: Round, begun: Position, pass: Pass): Promise<Position> {
  const first = begun.collection === undefined ? 0 : COLLECTION_NAMES.indexOf(begun.collection as CollectionName);
  if (first < 0) throw new ToolProblem(`The copy was begun by another release, which has ${begun.collection}. Go on with that release.`);
  let position = begun;
  for (const collection of COLLECTION_NAMES.slice(first)) position = await oneCollection(round, position, { pass, collection });
  await pass.end?.(round);
  return move(round, position, inPhase(position, pass.nextPhase));
}

async function oneCollection(
  round: Round,
  begun: Position,
  { pass, collection }: { pass: Pass; collection: CollectionName },
): Promise<Position> {
  const { target, progress, signal } = round;
  const limit = LARGE_ROWS[collection] ?? target.rowsPerTransaction;
  let position = begun;
  let copied = 0;
  const found = pass.find(round, collection, begun.collection === collection ? begun.after : undefined);
  for await (const batch of readAhead(inBatches(found, limit))) {
    signal.throwIfAborted();
    const rows = collection === "settings" ? batch.filter((row) => !FOLDER_SETTINGS.includes(String(idOf(row)))) : batch;
    const ids = rows.map(idOf);
    const next: Position = { ...position, changed: position.changed + rows.length, collection, after: idOf(batch.at(-1) as object) };
    await pass.prepare?.(round, collection, ids);
    await target.transaction("every", async (tx) => {
      await pass.apply(tx, collection, rows);
      await advance(tx, position, next);
    });
    position = next;
    copied += rows.length;
    progress({ collection, copied });
  }
  return position;
}

async function* inBatches<T extends object>(rows: AsyncIterable<T>, limit: number): AsyncGenerator<T[]> {
  let batch: T[] = [];
  for await (const row of rows) {
    batch.push(row);
    if (batch.length < limit) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

/** Contents of files. A blob that is copied twice is replaced by itself. */
async function copyBlobs(round: Round, begun: Position): Promise<Position> {
  const { next, target, progress, signal } = round;
  let position = begun;
  let copied = 0;
  for await (const { id } of next.scan("contents", rangeAfter(begun.after))) {
    signal.throwIfAborted();
    if (await hasSameBlob(round, id)) continue;
    const content = await next.blobs.get(blobName(id));
    // An upload that has not ended, or failed, has a row without a blob.
    if (!content) continue;
    await target.blobs.put(blobName(id), content);
    position = await move(round, position, { ...position, after: id });
    progress({ collection: "blobs", copied: ++copied });
  }
  return move(round, position, inPhase(position, "copied"));
}

/**
 * A row may stay the same while its blob arrives or is replaced. A blob of the copy before whose row came later was not copied with it: blobs are
 * linked after the records were copied.
 */
async function hasSameBlob({ base, next }: Round, id: string): Promise<boolean> {
  if (!(await base?.get("contents", id))) return false;
  const known = await base?.blobs.identity(blobName(id));
  return known !== undefined && known === (await next.blobs.identity(blobName(id)));
}

async function move({ target }: Pick<Round, "target">, last: Position, next: Position): Promise<Position> {
  await target.transaction("settings", (tx) => advance(tx, last, next));
  return next;
}
