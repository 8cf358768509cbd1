import type { AnyBulkWriteOperation, Collection, Db } from "mongodb";
import { type Clock, systemClock } from "../../../common/clock.ts";
import type { OwnershipRows, SlotRow } from "../ownership-rows.ts";
import { slotScope } from "../scopes.ts";
import type { AbandonedTransactions } from "./abandoned.ts";
import { ORDER_COLLECTION, orderFilter } from "./apply.ts";
import { within } from "./deadline.ts";

interface PlaneDocument {
  readonly _id: string;
  readonly address: string;
  readonly beat: number;
}

/** The order document of a slot's transactions, which names its owner too: a commit checks the epoch with the write that it makes anyway. */
interface SlotDocument {
  readonly _id: string;
  readonly number: bigint;
  readonly epoch?: number;
  readonly owner?: string | null;
}

/** Shorter than a plane may own slots without a beat. */
const OPERATION_MS = 2_500;

interface RowsOptions {
  readonly count: number;
  readonly clock?: Clock;
  readonly sharded?: boolean;
  readonly abandoned?: Pick<AbandonedTransactions, "end">;
}

/** The rows of ownership in MongoDB. Writes wait for the majority, so that a primary that is cut off gives no plane a slot. */
export function mongoOwnershipRows(database: Db, { count, clock = systemClock, sharded = false, abandoned }: RowsOptions): OwnershipRows {
  const planes = database.collection<PlaneDocument>("planes");
  const order = database.collection<SlotDocument>(ORDER_COLLECTION);
  const bounded = <T>(operation: Promise<T>) => within(clock, OPERATION_MS, operation);
  return {
    beat: async ({ id, address, beat }) => {
      await bounded(planes.updateOne({ _id: id }, { $set: { address, beat } }, { upsert: true }));
    },
    remove: async ({ id, beat }) => {
      await bounded(planes.deleteOne({ _id: id, beat }));
    },
    planes: async () => {
      const documents = await bounded(planes.find().toArray());
      return documents.map(({ _id: id, address, beat }) => ({ id, address, beat: Number(beat) }));
    },
    slots: () => bounded(readSlots(order, count)),
    take: async (slots, owner) => {
      // The last owner may have died in a transaction, which locks the rows of its slots. Not awaited: without a primary the look waits, too; who
      // meets the lock tries again.
      if (slots.some((slot) => slot.owner !== undefined)) void abandoned?.end();
      await bounded(changeOwner({ order, sharded }, slots, owner));
      // Some may have been taken by another plane: what the store says now counts.
      const taken = new Map(slots.map(({ slot, epoch }) => [slot, epoch + 1]));
      const now = await bounded(readSlots(order, count));
      return now.filter((row) => row.owner === owner && row.epoch === taken.get(row.slot));
    },
    giveUp: async (slots) => {
      await bounded(changeOwner({ order, sharded }, slots, null));
    },
  };
}

async function readSlots(order: Collection<SlotDocument>, count: number): Promise<SlotRow[]> {
  const ids = Array.from({ length: count }, (_, slot): string => slotScope(slot));
  const documents = await order.find({ _id: { $in: ids } }, { projection: { epoch: 1, owner: 1 } }).toArray();
  const known = new Map(documents.map((document) => [document._id, document]));
  return ids.map((id, slot) => {
    const { epoch = 0, owner } = known.get(id) ?? {};
    return { slot, epoch: Number(epoch), owner: owner ?? undefined };
  });
}

interface OrderRows {
  readonly order: Collection<SlotDocument>;
  readonly sharded: boolean;
}

async function changeOwner({ order, sharded }: OrderRows, slots: readonly SlotRow[], owner: string | null): Promise<void> {
  if (slots.length === 0) return;
  const missing = slots.filter(({ epoch }) => epoch === 0).map(({ slot }) => slot);
  await createMissing({ order, sharded }, missing);
  const operations = slots.map(
    ({ slot, epoch }): AnyBulkWriteOperation<SlotDocument> => ({
      updateOne: { filter: { ...orderFilter(slotScope(slot), sharded), epoch }, update: { $set: { owner, epoch: epoch + 1 } } },
    }),
  );
  await order.bulkWrite(operations, { ordered: false });
}

/** A slot of which no transaction was made has no document yet, and one of an older version has no epoch. */
async function createMissing({ order, sharded }: OrderRows, slots: readonly number[]): Promise<void> {
  if (slots.length === 0) return;
  const create = slots.map((slot): AnyBulkWriteOperation<SlotDocument> => {
    const filter = orderFilter(slotScope(slot), sharded);
    return { updateOne: { filter, update: { $setOnInsert: { number: 0n } }, upsert: true } };
  });
  const number = slots.map((slot): AnyBulkWriteOperation<SlotDocument> => {
    const filter = { ...orderFilter(slotScope(slot), sharded), epoch: { $exists: false } };
    return { updateOne: { filter, update: { $set: { epoch: 0 } } } };
  });
  await order.bulkWrite(create, { ordered: false });
  await order.bulkWrite(number, { ordered: false });
}
