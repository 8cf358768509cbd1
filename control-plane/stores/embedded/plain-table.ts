import type { RangeOptions } from "lmdb";
import { AppError } from "../../../common/errors.ts";
import type { CollectionName, IndexValue } from "../collections.ts";
import type { Write } from "../overlay.ts";
import type { Bounds } from "../store.ts";
import { keyBounds } from "./bounds.ts";
import { decode, encode } from "./record-format.ts";
import type { RecordDatabase, RecordTable, StoredRecord } from "./record-table.ts";

const ONLY_NEW = { noOverwrite: true };

/** A table with one key per record. */
export class PlainTable implements RecordTable {
  readonly #database: RecordDatabase;
  readonly #collection: CollectionName;

  constructor(database: RecordDatabase, collection: CollectionName) {
    this.#database = database;
    this.#collection = collection;
  }

  get(id: IndexValue): StoredRecord | undefined {
    const bytes = this.#database.get(id);
    return bytes && this.#decode(bytes);
  }

  getMany(ids: readonly IndexValue[]): (StoredRecord | undefined)[] {
    return ids.map((id) => this.get(id));
  }

  *range(range: Bounds): Iterable<StoredRecord> {
    for (const { value } of this.#database.getRange(primaryBounds(range))) yield this.#decode(value);
  }

  counts(range: Bounds): Iterable<number> {
    return [this.#database.getKeysCount(primaryBounds(range))];
  }

  encoded(id: IndexValue): Buffer | undefined {
    return this.#database.get(id);
  }

  *encodedRange(range: Bounds): Iterable<{ id: IndexValue; bytes: Buffer }> {
    for (const { key, value } of this.#database.getRange(primaryBounds(range))) yield { id: key as IndexValue, bytes: value };
  }

  apply(writes: readonly Write[]): void {
    for (const { id, before, after } of writes) {
      if (!after) this.#database.removeSync(id);
      else if (before) this.#database.putSync(id, encode(this.#collection, after));
      else if (!putNew(this.#database, id, encode(this.#collection, after))) throw takenId(this.#collection);
    }
  }

  #decode(bytes: Buffer): StoredRecord {
    return decode(this.#collection, bytes) as StoredRecord;
  }
}

/** Returns whether the record was new. The library's types lack this return value. */
function putNew(database: RecordDatabase, id: IndexValue, bytes: Buffer): boolean {
  return database.putSync(id, bytes, ONLY_NEW) as unknown as boolean;
}

/** The error of `insertNew` without a read that finds an existing record: it rolls back the whole transaction. */
export function takenId(collection: CollectionName): AppError {
  return new AppError("ALREADY_EXISTS", "A record with these values exists already.", { internal: `${collection}.id is taken` });
}

function primaryBounds(range: Bounds): RangeOptions {
  const after = range.after?.at(-1);
  return keyBounds({ low: range.from, high: range.before, after, range });
}
