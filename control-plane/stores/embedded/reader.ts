import type { Database, RangeOptions } from "lmdb";
import type { CollectionName, IndexName, IndexValue, Records } from "../collections.ts";
import type { Bounds, Range, Reader } from "../store.ts";
import { keyBounds } from "./bounds.ts";
import type { IndexTable } from "./index-table.ts";
import { decode } from "./record-format.ts";

/** One database of records and one per index. */
export interface Tables {
  records(collection: CollectionName): Database<Buffer, IndexValue>;
  index(collection: CollectionName, index: string): IndexTable;
}

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
    const [id] = this.tables.index(collection, index).ids({ equals: values, limit: 1 });
    return id === undefined ? undefined : this.get(collection, id);
  }

  async *scan<Name extends CollectionName>(collection: Name, range: Range<Name> = {}): AsyncIterable<Records[Name]> {
    const records = this.tables.records(collection);
    if (!range.index) {
      for (const { value } of records.getRange(primaryBounds(range))) yield decode(collection, value);
      return;
    }
    for (const id of this.tables.index(collection, range.index).ids(range)) {
      const bytes = records.get(id);
      if (bytes) yield decode(collection, bytes);
    }
  }

  async count<Name extends CollectionName>(collection: Name, range: Range<Name> = {}): Promise<number> {
    if (range.index) return this.tables.index(collection, range.index).count(range);
    return this.tables.records(collection).getKeysCount(primaryBounds(range));
  }
}

function primaryBounds(range: Bounds): RangeOptions {
  const after = range.after?.at(-1);
  return keyBounds({ low: range.from, high: range.before, after, range });
}
