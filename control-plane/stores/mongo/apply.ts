import type { AnyBulkWriteOperation, ClientSession, Db } from "mongodb";
import { type CollectionName, indexesOf, indexValues } from "../collections.ts";
import type { Write } from "../overlay.ts";
import { type StoredDocument, toDocument } from "./documents.ts";

/**
 * One document that every transaction changes. Snapshot isolation alone allows write skew between two control planes; both changing this
 * document makes one of them conflict and retry, so that transactions are serialized over all control planes.
 */
export const ORDER_COLLECTION = "transactionOrder";

/** Sends a transaction's writes, the order document first, so that a conflicting transaction fails early. */
export async function applyWrites(database: Db, session: ClientSession, writes: readonly Write[]): Promise<void> {
  const order = database.collection<{ _id: string; number: bigint }>(ORDER_COLLECTION);
  await order.updateOne({ _id: "last" }, { $inc: { number: 1n } }, { session, upsert: true });
  for (const [collection, ofCollection] of Map.groupBy(writes, (write) => write.collection)) {
    await applyToCollection({ database, session, collection, writes: ofCollection });
  }
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
