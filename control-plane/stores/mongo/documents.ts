import type { CollectionName, IndexValue, Records } from "../collections.ts";

/** A record in MongoDB: `id` is `_id`, other fields are unchanged. */
export type StoredDocument = { _id: IndexValue } & Record<string, unknown>;

const LONG_MAX = 2n ** 63n - 1n;
const LONG_MIN = -(2n ** 63n);

export function toDocument(record: { id: IndexValue }): StoredDocument {
  const { id, ...fields } = record;
  for (const [name, value] of Object.entries(fields)) {
    // BSON would silently truncate it to 64 bits.
    if (typeof value === "bigint" && ((value as bigint) > LONG_MAX || (value as bigint) < LONG_MIN)) {
      throw new RangeError(`${name} does not fit into 64 bits`);
    }
  }
  return { _id: scalar(id), ...fields };
}

export function fromDocument<Name extends CollectionName>(document: StoredDocument): Records[Name] {
  const { _id, ...fields } = document;
  return { id: _id, ...fields } as unknown as Records[Name];
}

/** The driver reads an object in a filter as an operator, so only plain values may get there, whatever the types promise. */
export function scalar(value: IndexValue): IndexValue {
  if (typeof value === "string" || typeof value === "number") return value;
  throw new TypeError("an id or an index value is a string or a number");
}

export const fieldName = (field: string): string => (field === "id" ? "_id" : field);
