import { Packr } from "msgpackr";
import type { CollectionName, Records } from "../collections.ts";

// Plain maps, no shared record structures: a record can be read by any version, alone. Bigints stay bigints.
const packr = new Packr({ useRecords: false, int64AsType: "bigint" });

/**
 * The rows that every call writes are arrays by position: half as long as with their fields' names, and written in half the time. The
 * order is theirs for ever, and the one in which they were made, for a row's hash goes over its fields in that order; what is new comes
 * at the end. Rows from before are maps, and are read as such.
 */
const POSITIONS = {
  usage: [
    "id",
    "createdAt",
    "completedAt",
    "organizationId",
    "teamId",
    "teamName",
    "apiKeyId",
    "apiKeyName",
    "maskedKey",
    "userId",
    "endUser",
    "endpoint",
    "model",
    "deploymentId",
    "provider",
    "type",
    "stream",
    "status",
    "httpStatus",
    "errorCode",
    "usage",
    "priceVersion",
    "cacheHit",
    "attempts",
    "fallbackFrom",
    "latencyMs",
    "firstTokenMs",
    "overheadUs",
    "tags",
    "onceFor",
    "cost",
    "contentHash",
    "ledgerSeq",
  ],
  ledger: ["id", "reference", "type", "organizationId", "from", "to", "amount", "balanceAfter", "note", "createdAt", "hash"],
} as const satisfies { [Name in CollectionName]?: readonly (keyof Records[Name])[] };

type Positional = keyof typeof POSITIONS;
type Unlisted = { [Name in Positional]: Exclude<keyof Records[Name], (typeof POSITIONS)[Name][number]> }[Positional];

/** Does not compile when a field has no position: it would be lost. */
const positions: Readonly<Partial<Record<CollectionName, [Unlisted] extends [never] ? readonly string[] : never>>> = POSITIONS;

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
  for (const [place, name] of names.entries()) {
    const value = values[place];
    // What a record does not have it does not have as undefined either.
    if (value !== null && value !== undefined) record[name] = value;
  }
  return record;
}
