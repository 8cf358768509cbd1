import type { Database, RangeOptions } from "lmdb";
import type { CollectionName, IndexName, IndexValue, Records } from "../collections.ts";
import type { Bounds, Range, Reader } from "../store.ts";
import { decode } from "./record-format.ts";

/** One database of records and one per index, whose keys are `[...values, id]` and whose values are empty. */
export interface Tables {
  records(collection: CollectionName): Database<Buffer, IndexValue>;
  index(collection: CollectionName, index: string): Database<Buffer, IndexValue[]>;
}

/** Sorts after every value that can stand in an index. */
const AFTER_ALL = Buffer.from([0xff]) as unknown as IndexValue;

export class EmbeddedReader implements Reader {
  protected readonly tables: Tables;

  constructor(tables: Tables) {
    this.tables = tables;
  }

  async get<Name extends CollectionName>(collection: Name, id: IndexValue): Promise<Records[Name] | undefined> {
    const bytes = this.tables.records(collection).get(id);
    return bytes && decode(collection, bytes);
  }

  async getMany<Name extends CollectionName>(collection: Name, ids: readonly IndexValue[]): Promise<(Records[Name] | undefined)[]> {
    const table = this.tables.records(collection);
    return ids.map((id) => {
      const bytes = table.get(id);
      return bytes && decode(collection, bytes);
    });
  }

  async find<Name extends CollectionName>(
    collection: Name,
    index: IndexName<Name>,
    values: readonly IndexValue[],
  ): Promise<Records[Name] | undefined> {
    const [key] = this.tables.index(collection, index).getKeys({ start: [...values], end: [...values, AFTER_ALL], limit: 1 });
    const id = key?.at(-1);
    return id === undefined ? undefined : this.get(collection, id);
  }

  async *scan<Name extends CollectionName>(collection: Name, range: Range<Name> = {}): AsyncIterable<Records[Name]> {
    const records = this.tables.records(collection);
    if (!range.index) {
      for (const { value } of records.getRange(primaryBounds(range))) yield decode(collection, value);
      return;
    }
    const index = this.tables.index(collection, range.index);
    for (const key of index.getKeys(indexBounds(range))) {
      const bytes = records.get(key.at(-1) as IndexValue);
      if (bytes) yield decode(collection, bytes);
    }
  }

  async count<Name extends CollectionName>(collection: Name, range: Range<Name> = {}): Promise<number> {
    if (range.index) return this.tables.index(collection, range.index).getKeysCount(indexBounds(range));
    return this.tables.records(collection).getKeysCount(primaryBounds(range));
  }
}

/** The key of a record in an index of its collection. */
export function indexKey(values: readonly IndexValue[], id: IndexValue): IndexValue[] {
  return [...values, id];
}

function primaryBounds(range: Bounds): RangeOptions {
  const after = range.after?.at(-1);
  return bounds({ low: range.from, high: range.before, after, range });
}

function indexBounds(range: Bounds): RangeOptions {
  const prefix = range.equals ?? [];
  const low = range.from === undefined ? prefix : [...prefix, range.from];
  const high = range.before === undefined ? [...prefix, AFTER_ALL] : [...prefix, range.before];
  return bounds({ low: low.length > 0 ? low : undefined, high, after: range.after, range });
}

function bounds<Key>(window: { low: Key | undefined; high: Key | undefined; after: Key | undefined; range: Bounds }): RangeOptions {
  const { low, high, after, range } = window;
  const options: Record<string, unknown> = {};
  if (range.reverse) {
    // Backwards LMDB starts at the upper end: the bound is exclusive there, and the lower one belongs to the range.
    options["reverse"] = true;
    options["exclusiveStart"] = true;
    options["inclusiveEnd"] = true;
    set(options, "start", after ?? high);
    set(options, "end", low);
  } else {
    set(options, "start", after ?? low);
    set(options, "end", high);
    if (after !== undefined) options["exclusiveStart"] = true;
  }
  set(options, "offset", range.skip);
  set(options, "limit", range.limit);
  return options as RangeOptions;
}

function set(options: Record<string, unknown>, name: string, value: unknown): void {
  if (value !== undefined) options[name] = value;
}
