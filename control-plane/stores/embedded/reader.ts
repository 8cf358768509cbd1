import { setImmediate as nextTurn } from "node:timers/promises";
import type { Database, RangeOptions } from "lmdb";
import type { CollectionName, IndexName, IndexValue, Records } from "../collections.ts";
import { collect } from "../page.ts";
import type { Bounds, Range, Reader } from "../store.ts";
import { keyBounds } from "./bounds.ts";
import type { IndexTable } from "./index-table.ts";
import { decode } from "./record-format.ts";

/** Reads run on the event loop. After this many records, a few milliseconds, a scan yields. */
const RECORDS_A_TURN = 200;
/** Counting and skipping are cheaper. */
const KEYS_A_TURN = 5_000;

/** The databases of a collection: one for its records and one per index. */
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

  async listMany<Name extends CollectionName>(
    collection: Name,
    index: IndexName<Name>,
    values: readonly IndexValue[],
  ): Promise<Records[Name][][]> {
    const lists: Records[Name][][] = [];
    for (const value of values) lists.push(await collect(this.scan(collection, { index, equals: [value] })));
    return lists;
  }

  async *scan<Name extends CollectionName>(collection: Name, range: Range<Name> = {}): AsyncIterable<Records[Name]> {
    if (range.index) {
      yield* this.#scanIndex(collection, range.index, range);
      return;
    }
    let read = 0;
    for (const { value } of this.tables.records(collection).getRange(primaryBounds(range))) {
      yield decode(collection, value);
      if (++read % RECORDS_A_TURN === 0) await nextTurn();
    }
  }

  async count<Name extends CollectionName>(collection: Name, range: Range<Name> = {}): Promise<number> {
    if (!range.index) return this.tables.records(collection).getKeysCount(primaryBounds(range));
    let [total, parts] = [0, 0];
    for (const part of this.tables.index(collection, range.index).counts(range)) {
      total += part;
      if (++parts % KEYS_A_TURN === 0) await nextTurn();
    }
    return total;
  }

  encoded(collection: CollectionName, id: IndexValue): Buffer | undefined {
    return this.tables.records(collection).get(id);
  }

  async *differing<Name extends CollectionName>(
    collection: Name,
    other: Pick<EmbeddedReader, "encoded"> | undefined,
    range: Pick<Bounds, "after"> = {},
  ): AsyncGenerator<Records[Name]> {
    let read = 0;
    for (const { key, value } of this.tables.records(collection).getRange(primaryBounds(range))) {
      if (!other?.encoded(collection, key)?.equals(value)) yield decode(collection, value);
      if (++read % KEYS_A_TURN === 0) await nextTurn();
    }
  }

  async *#scanIndex<Name extends CollectionName>(collection: Name, index: string, range: Bounds): AsyncGenerator<Records[Name]> {
    const records = this.tables.records(collection);
    const { skip = 0, limit, ...window } = range;
    const wanted = limit === undefined ? window : { ...window, limit: skip + limit };
    let place = 0;
    for (const id of this.tables.index(collection, index).ids(wanted)) {
      // Skipped keys are counted here, because the index cannot yield.
      const isSkipped = place++ < skip;
      const bytes = isSkipped ? undefined : records.get(id);
      if (bytes) yield decode(collection, bytes);
      if (place % (isSkipped ? KEYS_A_TURN : RECORDS_A_TURN) === 0) await nextTurn();
    }
  }
}

function primaryBounds(range: Bounds): RangeOptions {
  const after = range.after?.at(-1);
  return keyBounds({ low: range.from, high: range.before, after, range });
}
