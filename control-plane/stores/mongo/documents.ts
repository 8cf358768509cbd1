import type { CollectionName, IndexValue, Records } from "../collections.ts";

/** A record as MongoDB holds it: `id` is `_id`, every other field is as it is. */
export type StoredDocument = { _id: IndexValue } & Record<string, unknown>;

const LONG_MAX = 2n ** 63n - 1n;
const LONG_MIN = -(2n ** 63n);

export function toDocument(record: { id: IndexValue }): StoredDocument {
  const { id, ...fields } = record;
  for (const [name, value] of Object.entries(fields)) {
    // BSON would cut it to 64 bits without a word.
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

/** The driver takes an object in a filter for an operator: only plain values may get there, whatever the types promised. */
export function scalar(value: IndexValue): IndexValue {
  if (typeof value === "string" || typeof value === "number") return value;
  throw new TypeError("an id or an index value is a string or a number");
}

export const fieldName = (field: string): string => (field === "id" ? "_id" : field);
