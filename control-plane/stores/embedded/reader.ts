import { setImmediate as nextTurn } from "node:timers/promises";
import type { CollectionName, IndexName, IndexValue, Records } from "../collections.ts";
import type { Bounds, Range, Reader } from "../store.ts";
import type { IndexTable } from "./index-table.ts";
import { decode } from "./record-format.ts";
import type { RecordTable } from "./record-table.ts";

/** Reads run on the event loop. After this many records, a few milliseconds, a scan yields. */
const RECORDS_A_TURN = 200;
/** How many records the first page of a scan by an index has; each has twice as many as the one before, since most readers stop early. */
const FIRST_PAGE = 16;
/** Counting and skipping are cheaper. */
const KEYS_A_TURN = 5_000;

/** LMDB takes no longer keys. */
const KEY_BYTES_MAX = 1978;

/** The tables of a collection: one for its records and one per index. */
export interface Tables {
  records(collection: CollectionName): RecordTable;
  index(collection: CollectionName, index: string): IndexTable;
}

export class EmbeddedReader implements Reader {
  protected readonly tables: Tables;

  constructor(tables: Tables) {
    this.tables = tables;
  }

  async get<Name extends CollectionName>(collection: Name, id: IndexValue): Promise<Records[Name] | undefined> {
    return isKey(id) ? (this.tables.records(collection).get(id) as Records[Name] | undefined) : undefined;
  }

  async getMany<Name extends CollectionName>(collection: Name, ids: readonly IndexValue[]): Promise<(Records[Name] | undefined)[]> {
    if (!ids.every(isKey)) return await Promise.all(ids.map((id) => this.get(collection, id)));
    return this.tables.records(collection).getMany(ids) as (Records[Name] | undefined)[];
  }

  async find<Name extends CollectionName>(
    collection: Name,
    index: IndexName<Name>,
    values: readonly IndexValue[],
  ): Promise<Records[Name] | undefined> {
    if (!values.every(isKey)) return undefined;
    const [id] = this.tables.index(collection, index).ids({ equals: values, limit: 1 });
    return id === undefined ? undefined : this.get(collection, id);
  }

  async listMany<Name extends CollectionName>(
    collection: Name,
    index: IndexName<Name>,
    values: readonly IndexValue[],
  ): Promise<Records[Name][][]> {
    const ids = this.tables.index(collection, index).idsOfEach(values);
    const found = new Map<IndexValue, Records[Name]>();
    for (const page of pagesOf(ids.flat())) {
      if (found.size > 0) await nextTurn();
      for (const record of existing(this.tables.records(collection).getMany(page)))
        found.set(record.id, record as unknown as Records[Name]);
    }
    return ids.map((list) => existing(list.map((id) => found.get(id))));
  }

  async *scan<Name extends CollectionName>(collection: Name, range: Range<Name> = {}): AsyncIterable<Records[Name]> {
    if (range.index) {
      yield* this.#scanIndex(collection, range.index, range);
      return;
    }
    let read = 0;
    for (const record of this.tables.records(collection).range(range)) {
      yield record as Records[Name];
      if (++read % RECORDS_A_TURN === 0) await nextTurn();
    }
  }

  async count<Name extends CollectionName>(collection: Name, range: Range<Name> = {}): Promise<number> {
    const table = range.index ? this.tables.index(collection, range.index) : this.tables.records(collection);
    let [total, parts] = [0, 0];
    for (const part of table.counts(range)) {
      total += part;
      if (++parts % KEYS_A_TURN === 0) await nextTurn();
    }
    return total;
  }

  encoded(collection: CollectionName, id: IndexValue): Buffer | undefined {
    return this.tables.records(collection).encoded(id);
  }

  async *differing<Name extends CollectionName>(
    collection: Name,
    other: Pick<EmbeddedReader, "encoded"> | undefined,
    range: Pick<Bounds, "after"> = {},
  ): AsyncGenerator<Records[Name]> {
    let read = 0;
    for (const { id, bytes } of this.tables.records(collection).encodedRange(range)) {
      if (!other?.encoded(collection, id)?.equals(bytes)) yield decode(collection, bytes);
      if (++read % KEYS_A_TURN === 0) await nextTurn();
    }
  }

  async *#scanIndex<Name extends CollectionName>(collection: Name, index: string, range: Bounds): AsyncGenerator<Records[Name]> {
    const records = this.tables.records(collection);
    const { skip = 0, limit, ...window } = range;
    const wanted = limit === undefined ? window : { ...window, limit: skip + limit };
    let [skipped, read, size] = [0, 0, FIRST_PAGE];
    let page: IndexValue[] = [];
    for (const id of this.tables.index(collection, index).ids(wanted)) {
      if (skipped < skip) {
        // Skipped keys are counted here, because the index cannot yield.
        if (++skipped % KEYS_A_TURN === 0) await nextTurn();
        continue;
      }
      page.push(id);
      if (page.length < size) continue;
      yield* existing(records.getMany(page)) as Iterable<Records[Name]>;
      read += page.length;
      if (read >= RECORDS_A_TURN) {
        await nextTurn();
        read = 0;
      }
      [page, size] = [[], Math.min(2 * size, RECORDS_A_TURN)];
    }
    yield* existing(records.getMany(page)) as Iterable<Records[Name]>;
  }
}

function* pagesOf(ids: readonly IndexValue[]): Iterable<IndexValue[]> {
  for (let start = 0; start < ids.length; start += RECORDS_A_TURN) yield ids.slice(start, start + RECORDS_A_TURN);
}

function existing<T>(records: readonly (T | undefined)[]): T[] {
  return records.filter((record) => record !== undefined);
}

/** Clients choose what they ask for: no record has a key that is too long to be stored. A character has at most three bytes for each of its units. */
function isKey(value: IndexValue): boolean {
  return typeof value !== "string" || value.length * 3 <= KEY_BYTES_MAX || Buffer.byteLength(value) <= KEY_BYTES_MAX;
}
