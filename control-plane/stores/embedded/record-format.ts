import { Packr } from "msgpackr";
import { USAGE_ROW_FIELDS } from "../../domain/records.ts";
import type { CollectionName, Records } from "../collections.ts";

// Plain maps without shared record structures, so that any version can read a record by itself. Bigints stay bigints.
const packr = new Packr({ useRecords: false, int64AsType: "bigint" });

/**
 * Rows that every call writes are stored as positional arrays: half the size of maps, and written in half the time. The order must never
 * change, because a row's hash covers its fields in this order; new fields go to the end. Older rows are maps and are read as maps.
 */
const POSITIONS = {
  usage: USAGE_ROW_FIELDS,
  ledger: ["id", "reference", "type", "organizationId", "from", "to", "amount", "balanceAfter", "note", "createdAt", "hash"],
} as const satisfies { [Name in CollectionName]?: readonly (keyof Records[Name])[] };

type Positional = keyof typeof POSITIONS;
type Unlisted = { [Name in Positional]: Exclude<keyof Records[Name], (typeof POSITIONS)[Name][number]> }[Positional];

/** Does not compile if a field has no position, because the field would be lost. */
const positions: Readonly<Partial<Record<CollectionName, [Unlisted] extends [never] ? readonly string[] : never>>> = POSITIONS;

/** The fields of a collection whose rows are positional, in their order. */
export function fieldsOf(collection: CollectionName): readonly string[] {
  return positions[collection] ?? [];
}

export function encode(collection: CollectionName, record: object): Buffer {
  const names = positions[collection];
  return packr.pack(names ? names.map((name) => (record as Record<string, unknown>)[name] ?? null) : record);
}

export function decode<Name extends CollectionName>(collection: Name, bytes: Buffer): Records[Name] {
  const value = packr.unpack(bytes) as unknown;
  return (Array.isArray(value) ? named(positions[collection] ?? [], value) : value) as Records[Name];
}

function named(names: readonly string[], values: readonly unknown[]): object {
  const record: Record<string, unknown> = {};
  let place = 0;
  for (const name of names) {
    const value = values[place++];
    // An absent field stays absent instead of undefined.
    if (value !== null && value !== undefined) record[name] = value;
  }
  return record;
}
