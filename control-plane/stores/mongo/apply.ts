import type { AnyBulkWriteOperation, ClientSession, Collection, Db } from "mongodb";
import { NotOwner } from "../../domain/not-owner.ts";
import { type CollectionName, indexesOf, indexValues } from "../collections.ts";
import type { Place } from "../fence.ts";
import type { Write } from "../overlay.ts";
import { slotOfScope } from "../scopes.ts";
import { type StoredDocument, toDocument } from "./documents.ts";

/**
 * One document per scope that every transaction of the scope changes. Snapshot isolation alone allows write skew between two control planes;
 * both changing this document makes one of them conflict and retry, so that transactions of a scope are serialized over all control planes.
 * The document of a slot names its epoch too, which rises with each new owner.
 */
export const ORDER_COLLECTION = "transactionOrder";

interface OrderDocument {
  readonly _id: string;
  readonly number: bigint;
  readonly epoch?: number;
}

/**
 * Sends a transaction's writes, the order documents first, so that a conflicting transaction fails early. Throws `NotOwner` if a slot has
 * another epoch by now.
 */
export async function applyWrites(
  database: Db,
  session: ClientSession,
  { places, writes }: { places: readonly Place[]; writes: readonly Write[] },
): Promise<void> {
  if (places.length > 0) await takeOrder(database.collection<OrderDocument>(ORDER_COLLECTION), session, places);
  for (const [collection, ofCollection] of Map.groupBy(writes, (write) => write.collection)) {
    await applyToCollection({ database, session, collection, writes: ofCollection });
  }
}

/** In the same order in every transaction, so that two of them conflict at the first scope that they share. */
async function takeOrder(order: Collection<OrderDocument>, session: ClientSession, places: readonly Place[]): Promise<void> {
  const sorted = places.toSorted((left, right) => (left.scope < right.scope ? -1 : 1));
  const update = { $inc: { number: 1n } };
  const result = await order.bulkWrite(
    sorted.map(({ scope, epoch }) =>
      epoch === undefined
        ? { updateOne: { filter: { _id: scope }, update, upsert: true } }
        : { updateOne: { filter: { _id: scope, epoch }, update } },
    ),
    { session, ordered: true },
  );
  if (result.matchedCount + result.upsertedCount < places.length) throw new NotOwner(await lostSlot(order, session, sorted));
}

async function lostSlot(order: Collection<OrderDocument>, session: ClientSession, places: readonly Place[]): Promise<number> {
  const fenced = places.filter(({ epoch }) => epoch !== undefined);
  const documents = await order.find({ _id: { $in: fenced.map(({ scope }) => scope) } }, { session }).toArray();
  const epochs = new Map(documents.map(({ _id, epoch }) => [_id, epoch]));
  const lost = fenced.find(({ scope, epoch }) => Number(epochs.get(scope) ?? -1) !== epoch);
  return (lost && slotOfScope(lost.scope)) ?? -1;
}

async function applyToCollection(batch: { database: Db; session: ClientSession; collection: CollectionName; writes: readonly Write[] }) {
  const { removals, replacements, insertions } = plan(batch.collection, batch.writes);
  const operations = [...removals, ...replacements, ...insertions];
  const result = await batch.database.collection<StoredDocument>(batch.collection).bulkWrite(operations, {
    session: batch.session,
    ordered: true,
  });
  const expected = [removals.length, replacements.length, insertions.length].join("/");
  const done = [result.deletedCount, result.matchedCount, result.insertedCount].join("/");
  // The records were read from the same snapshot, so a difference is a bug.
  if (done !== expected) throw new Error(`${batch.collection}: removed/replaced/inserted ${done} instead of ${expected}`);
}

type Operation = AnyBulkWriteOperation<StoredDocument>;

/**
 * Removals come first, so that a unique value is free before another record takes it. A record whose unique value changes is removed and
 * inserted, so that even two records that swap values do not conflict.
 */
function plan(collection: CollectionName, writes: readonly Write[]) {
  const removals: Operation[] = [];
  const replacements: Operation[] = [];
  const insertions: Operation[] = [];
  for (const { id, before, after } of writes) {
    if (before && after && sameUniqueValues(collection, before, after)) {
      const { _id, ...replacement } = toDocument(after);
      replacements.push({ replaceOne: { filter: { _id }, replacement } });
      continue;
    }
    if (before) removals.push({ deleteOne: { filter: { _id: id } } });
    if (after) insertions.push({ insertOne: { document: toDocument(after) } });
  }
  return { removals, replacements, insertions };
}

function sameUniqueValues(collection: CollectionName, before: object, after: object): boolean {
  return Object.values(indexesOf(collection)).every((definition) => {
    if (!definition.unique) return true;
    return JSON.stringify(indexValues(before, definition)) === JSON.stringify(indexValues(after, definition));
  });
}
