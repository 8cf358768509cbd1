import type { CollectionName, IndexValue, Records } from "../collections.ts";

/** The field with the slot of a record, by which collections of a sharded cluster are divided. No record has a field of this name itself. */
export const SLOT = "slot";

/** A record in MongoDB: `id` is `_id`, its slot is added on a sharded cluster if its collection has slots, other fields are unchanged. */
export type StoredDocument = { _id: IndexValue } & Record<string, unknown>;

const LONG_MAX = 2n ** 63n - 1n;
const LONG_MIN = -(2n ** 63n);

export function toDocument(record: { id: IndexValue }, slot: number | undefined): StoredDocument {
  const { id, ...fields } = record;
  for (const [name, value] of Object.entries(fields)) {
    // BSON would silently truncate it to 64 bits.
    if (typeof value === "bigint" && ((value as bigint) > LONG_MAX || (value as bigint) < LONG_MIN)) {
      throw new RangeError(`${name} does not fit into 64 bits`);
    }
  }
  return slot === undefined ? { _id: scalar(id), ...fields } : { _id: scalar(id), [SLOT]: slot, ...fields };
}

export function fromDocument<Name extends CollectionName>(document: StoredDocument): Records[Name] {
  const { _id, [SLOT]: _, ...fields } = document;
  return { id: _id, ...fields } as unknown as Records[Name];
}

/** The driver reads an object in a filter as an operator, so only plain values may get there, whatever the types promise. */
export function scalar(value: IndexValue): IndexValue {
  if (typeof value === "string" || typeof value === "number") return value;
  throw new TypeError("an id or an index value is a string or a number");
}

export const fieldName = (field: string): string => (field === "id" ? "_id" : field);
