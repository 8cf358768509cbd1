import type { ClientSession, Collection } from "mongodb";
import { type CollectionName, type IndexDefinition, type IndexValue, indexesOf, indexValues } from "../collections.ts";
import type { Write } from "../overlay.ts";
import type { RecordSlots } from "../record-slots.ts";
import { fieldName, SLOT, type StoredDocument } from "./documents.ts";
import { alreadyThere } from "./driver-errors.ts";

interface Batch {
  readonly table: Collection<StoredDocument>;
  readonly session: ClientSession;
  readonly records: RecordSlots;
  readonly collection: CollectionName;
  readonly writes: readonly Write[];
}

/**
 * Throws ALREADY_EXISTS if a new record has the unique values of another one of its slot. Unique indexes of a sharded collection must begin
 * with the shard key, so that MongoDB cannot refuse it itself; transactions of a slot are serialized, so that a read is enough.
 */
export async function refuseTaken(batch: Batch): Promise<void> {
  const { collection, writes } = batch;
  const indexes = Object.entries(indexesOf(collection)).filter(([, { unique }]) => unique);
  const inserted = writes.flatMap(({ before, after }) => (after && !before ? [after] : []));
  const [first] = inserted;
  if (indexes.length === 0 || !first || batch.records.of(collection, first) === undefined) return;
  for (const [name, definition] of indexes) {
    for (const [slot, ofSlot] of Map.groupBy(inserted, (record) => batch.records.of(collection, record))) {
      await refuseIn(batch, { name, definition, slot, inserted: ofSlot });
    }
  }
}

async function refuseIn(
  { table, session, collection, writes }: Batch,
  {
    name,
    definition,
    slot,
    inserted,
  }: { name: string; definition: IndexDefinition; slot: number | undefined; inserted: readonly object[] },
): Promise<void> {
  const taken = valuesOf(inserted, definition);
  if (taken.length === 0) return;
  const complaint = `${collection} has a record with the same ${definition.fields.join(" and ")}`;
  const written = valuesOf(
    writes.flatMap(({ after }) => after ?? []),
    definition,
  );
  if (new Set(written.map((values) => JSON.stringify(values))).size < written.length) throw alreadyThere(complaint);
  // What the transaction changes or removes has other values by then.
  const others = { _id: { $nin: writes.flatMap(({ id, before }) => (before ? [id] : [])) }, [SLOT]: slot };
  const filter = { ...others, ...valuesFilter(definition, taken) };
  if (await table.findOne(filter, { session, hint: name, projection: { _id: 1 } })) throw alreadyThere(complaint);
}

function valuesOf(records: readonly object[], definition: IndexDefinition): IndexValue[][] {
  return records.map((record) => indexValues(record, definition)).filter((values) => values !== undefined);
}

function valuesFilter({ fields }: IndexDefinition, taken: readonly IndexValue[][]): object {
  const [field] = fields;
  if (field !== undefined && fields.length === 1) return { [fieldName(field)]: { $in: taken.map(([value]) => value) } };
  return { $or: taken.map((values) => Object.fromEntries(fields.map((name, position) => [fieldName(name), values[position]]))) };
}
