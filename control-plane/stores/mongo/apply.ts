import type { AnyBulkWriteOperation, ClientSession, Collection, Db } from "mongodb";
import { NotOwner } from "../../domain/not-owner.ts";
import { type CollectionName, indexesOf, indexValues } from "../collections.ts";
import type { Place } from "../fence.ts";
import type { Write } from "../overlay.ts";
import { type RecordSlots, SHARED_SLOT } from "../record-slots.ts";
import { type Scope, slotOfScope } from "../scopes.ts";
import { SLOT, type StoredDocument, toDocument } from "./documents.ts";
import { refuseTaken } from "./taken-values.ts";

/**
 * One document per scope that every transaction of the scope changes. Snapshot isolation alone allows write skew between two control planes;
 * both changing this document makes one of them conflict and retry, so that transactions of a scope are serialized over all control planes.
 * The document of a slot names its epoch too, which rises with each new owner.
 */
export const ORDER_COLLECTION = "transactionOrder";

/** Where a transaction writes. */
interface Target {
  readonly database: Db;
  readonly session: ClientSession;
  readonly records: RecordSlots;
  /** Whether collections are divided by slot among shards. */
  readonly sharded: boolean;
}

interface OrderDocument {
  readonly _id: string;
  readonly slot?: number;
  readonly number: bigint;
  readonly epoch?: number;
}

/**
 * Sends a transaction's writes, the order documents first, so that a conflicting transaction fails early. Throws `NotOwner` if a slot has
 * another epoch by now.
 */
export async function applyWrites(
  target: Target,
  { places, writes }: { places: readonly Place[]; writes: readonly Write[] },
): Promise<void> {
  if (places.length > 0) await takeOrder(target, places);
  for (const [collection, ofCollection] of Map.groupBy(writes, (write) => write.collection)) {
    await applyToCollection(target, collection, ofCollection);
  }
}

/** The filter of a scope's order document. On a sharded cluster it names the slot, without which a router can neither find nor insert it. */
export function orderFilter(scope: Scope, sharded: boolean): { _id: string; [SLOT]?: number } {
  return sharded ? { _id: scope, [SLOT]: slotOfOrder(scope) } : { _id: scope };
}

/** The slot of a scope's order document. */
export function slotOfOrder(scope: Scope): number {
  return slotOfScope(scope) ?? SHARED_SLOT;
}

/** In the same order in every transaction, so that two of them conflict at the first scope that they share. */
async function takeOrder({ database, session, sharded }: Target, places: readonly Place[]): Promise<void> {
  const order = database.collection<OrderDocument>(ORDER_COLLECTION);
  const sorted = places.toSorted((left, right) => (left.scope < right.scope ? -1 : 1));
  const result = await order.bulkWrite(
    sorted.map(({ scope, epoch }) => {
      const filter = orderFilter(scope, sharded);
      const update = { $inc: { number: 1n } };
      return epoch === undefined
        ? { updateOne: { filter, update, upsert: true } }
        : { updateOne: { filter: { ...filter, epoch }, update } };
    }),
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

async function applyToCollection(target: Target, collection: CollectionName, writes: readonly Write[]): Promise<void> {
  const { session } = target;
  const table = target.database.collection<StoredDocument>(collection);
  if (target.sharded) await refuseTaken({ table, session, records: target.records, collection, writes });
  const { removals, replacements, insertions } = plan(target, collection, writes);
  const result = await table.bulkWrite([...removals, ...replacements, ...insertions], { session, ordered: true });
  const expected = [removals.length, replacements.length, insertions.length].join("/");
  const done = [result.deletedCount, result.matchedCount, result.insertedCount].join("/");
  // The records were read from the same snapshot, so a difference is a bug.
  if (done !== expected) throw new Error(`${collection}: removed/replaced/inserted ${done} instead of ${expected}`);
}

type Operation = AnyBulkWriteOperation<StoredDocument>;

/**
 * Removals come first, so that a unique value is free before another record takes it. A record whose unique value changes is removed and
 * inserted, so that even two records that swap values do not conflict; and so is one whose slot becomes known, because it changes shards.
 */
function plan({ records, sharded }: Target, collection: CollectionName, writes: readonly Write[]) {
  const removals: Operation[] = [];
  const replacements: Operation[] = [];
  const insertions: Operation[] = [];
  const slotOf = (record: object | undefined) => (sharded && record ? records.of(collection, record) : undefined);
  for (const { id, before, after } of writes) {
    const [from, slot] = [slotOf(before), slotOf(after)];
    const filter = from === undefined ? { _id: id } : { _id: id, [SLOT]: from };
    if (before && after && from === slot && sameUniqueValues(collection, before, after)) {
      const { _id, ...replacement } = toDocument(after, slot);
      replacements.push({ replaceOne: { filter: { ...filter, _id }, replacement } });
      continue;
    }
    if (before) removals.push({ deleteOne: { filter } });
    if (after) insertions.push({ insertOne: { document: toDocument(after, slot) } });
  }
  return { removals, replacements, insertions };
}

function sameUniqueValues(collection: CollectionName, before: object, after: object): boolean {
  return Object.values(indexesOf(collection)).every((definition) => {
    if (!definition.unique) return true;
    return JSON.stringify(indexValues(before, definition)) === JSON.stringify(indexValues(after, definition));
  });
}
