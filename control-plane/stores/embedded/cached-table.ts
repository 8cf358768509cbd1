import type { CollectionName, IndexValue } from "../collections.ts";
import type { Write } from "../overlay.ts";
import type { Bounds } from "../store.ts";
import type { RecordTable, StoredRecord } from "./record-table.ts";

/** Collections of which each call reads records by their ids. */
export const CACHED: ReadonlySet<CollectionName> = new Set([
  ...(["keys", "teams", "organizations", "users", "models", "accounts", "keyUses", "budgetUses", "leases", "rollups"] as const),
]);

const RECORDS_MAX = 4096;
const FEW = 16;
/** A record that the table does not have. */
const ABSENT = Symbol("absent");

/**
 * A table whose records are decoded once, until they are written: to read a record and to decode it takes ten times as long as to copy it. What
 * is returned is the caller's own, but for objects within it, which are frozen.
 */
export class CachedTable implements RecordTable {
  readonly #table: RecordTable;
  readonly #known = new Map<IndexValue, StoredRecord | typeof ABSENT>();

  constructor(table: RecordTable) {
    this.#table = table;
  }

  get(id: IndexValue): StoredRecord | undefined {
    const record = this.#known.get(id) ?? this.#read(id);
    return record === ABSENT ? undefined : { ...record };
  }

  /** Many at once are part of a scan, whose records would take the place of those that calls read. */
  getMany(ids: readonly IndexValue[]): (StoredRecord | undefined)[] {
    if (ids.length <= FEW) return ids.map((id) => this.get(id));
    return ids.map((id) => (this.#known.has(id) ? this.get(id) : this.#table.get(id)));
  }

  range(range: Bounds): Iterable<StoredRecord> {
    return this.#table.range(range);
  }

  counts(range: Bounds): Iterable<number> {
    return this.#table.counts(range);
  }

  encoded(id: IndexValue): Buffer | undefined {
    return this.#table.encoded(id);
  }

  encodedRange(range: Bounds): Iterable<{ readonly id: IndexValue; readonly bytes: Buffer }> {
    return this.#table.encodedRange(range);
  }

  /** Nothing is read between these writes and their commit, which would be remembered although it may be undone. */
  apply(writes: readonly Write[]): void {
    for (const { id } of writes) this.#known.delete(id);
    this.#table.apply(writes);
  }

  /** What a call changes is read again soon. */
  committed(writes: readonly Write[]): void {
    for (const { id, after } of writes) {
      const copy = after && copyOf(after);
      if (copy) this.#remember(id, copy as StoredRecord);
    }
  }

  /** Another process may have written. */
  forget(): void {
    this.#known.clear();
  }

  #read(id: IndexValue): StoredRecord | typeof ABSENT {
    const record = this.#table.get(id) ?? ABSENT;
    if (record !== ABSENT) freezeWithin(record);
    this.#remember(id, record);
    return record;
  }

  #remember(id: IndexValue, record: StoredRecord | typeof ABSENT): void {
    if (this.#known.size >= RECORDS_MAX) this.#known.clear();
    this.#known.set(id, record);
  }
}

/** A record whose lists are its own; undefined if it has other objects, which may still be its writer's. */
function copyOf(record: object): object | undefined {
  const copy: Record<string, unknown> = { ...record };
  for (const [name, value] of Object.entries(copy)) {
    if (typeof value !== "object") continue;
    if (!Array.isArray(value) || value.some((element) => typeof element === "object")) return undefined;
    copy[name] = Object.freeze([...(value as unknown[])]);
  }
  return copy;
}

function freezeWithin(value: object): void {
  for (const inner of Object.values(value)) {
    if (typeof inner !== "object" || inner === null || ArrayBuffer.isView(inner)) continue;
    freezeWithin(inner);
    Object.freeze(inner);
  }
}
