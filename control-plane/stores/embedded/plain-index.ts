import type { RangeOptions } from "lmdb";
import type { IndexDefinition, IndexValue } from "../collections.ts";
import type { Write } from "../overlay.ts";
import type { Bounds } from "../store.ts";
import { AFTER_ALL, keyBounds } from "./bounds.ts";
import { type IndexDatabase, type IndexTable, movedValues, NOTHING } from "./index-table.ts";

/** An index with one key per record and empty values. */
export class PlainIndex implements IndexTable {
  readonly #database: IndexDatabase;
  readonly #definition: IndexDefinition;

  constructor(database: IndexDatabase, definition: IndexDefinition) {
    this.#database = database;
    this.#definition = definition;
  }

  *ids(range: Bounds): Iterable<IndexValue> {
    for (const key of this.#database.getKeys(bounds(range))) yield key.at(-1) as IndexValue;
  }

  idsOfEach(values: readonly IndexValue[]): IndexValue[][] {
    return values.map((value) => [...this.ids({ equals: [value] })]);
  }

  counts(range: Bounds): Iterable<number> {
    return [this.#database.getKeysCount(bounds(range))];
  }

  apply(writes: readonly Write[]): void {
    for (const { id, before, after } of writes) {
      const { old, fresh } = movedValues(this.#definition, before, after);
      if (old) this.#database.removeSync([...old, id]);
      if (fresh) this.#database.putSync([...fresh, id], NOTHING);
    }
  }
}

function bounds(range: Bounds): RangeOptions {
  const prefix = range.equals ?? [];
  const low = range.from === undefined ? prefix : [...prefix, range.from];
  const high = range.before === undefined ? [...prefix, AFTER_ALL] : [...prefix, range.before];
  return keyBounds({ low: low.length > 0 ? low : undefined, high, after: range.after, range });
}
