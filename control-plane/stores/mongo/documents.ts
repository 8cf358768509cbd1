import type { CollectionName, IndexValue, Records } from "../collections.ts";

/** The field with the slot of a record, by which collections of a sharded cluster are divided. No record has a field of this name itself. */
export const SLOT = "slot";

/** A record in MongoDB: `id` is `_id`, its slot is added on a sharded cluster if its collection has slots, other fields are unchanged. */
export type StoredDocument = { _id: IndexValue } & Record<string, unknown>;

const LONG_MAX = 2n ** 63n - 1n;
const LONG_MIN = -(2n ** 63n);

// Field by field, not by rest and spread, which take several times as long for records with many fields; every row that is settled or read passes here.
export function toDocument(record: { readonly id: IndexValue }, slot: number | undefined): StoredDocument {
  const document: StoredDocument = { _id: scalar(record.id) };
  if (slot !== undefined) document[SLOT] = slot;
  const fields = record as Record<string, unknown>;
  for (const name of Object.keys(record)) {
    if (name === "id") continue;
    const value = fields[name];
    // BSON would silently truncate it to 64 bits.
    if (typeof value === "bigint" && (value > LONG_MAX || value < LONG_MIN)) throw new RangeError(`${name} does not fit into 64 bits`);
    document[name] = value;
  }
  return document;
}

export function fromDocument<Name extends CollectionName>(document: StoredDocument): Records[Name] {
  const record: Record<string, unknown> = { id: document._id };
  for (const name of Object.keys(document)) if (name !== "_id" && name !== SLOT) record[name] = document[name];
  return record as unknown as Records[Name];
}

/** The driver reads an object in a filter as an operator, so only plain values may get there, whatever the types promise. */
export function scalar(value: IndexValue): IndexValue {
  if (typeof value === "string" || typeof value === "number") return value;
  throw new TypeError("an id or an index value is a string or a number");
}

export const fieldName = (field: string): string => (field === "id" ? "_id" : field);
