import type { CollectionName, IndexValue } from "../collections.ts";
import { inRange } from "../order.ts";
import type { Write } from "../overlay.ts";
import type { Bounds } from "../store.ts";
import { AFTER_ALL, keyBounds } from "./bounds.ts";
import { takenId } from "./plain-table.ts";
import { decode, encode } from "./record-format.ts";
import type { RecordDatabase, RecordTable, StoredRecord } from "./record-table.ts";
import { packRows, RowBlock } from "./row-block.ts";
import { Spans } from "./spans.ts";

/** Key of a block: the start of its span, its first id, its last, and how many it has. */
type BlockKey = [span: IndexValue, first: IndexValue, last: IndexValue, rows: number];

/** The most rows of a block. Larger ones are hardly smaller on disk, and the whole block is read for one row. */
const BLOCK_ROWS = 128;
/** Blocks that stay unpacked, because a page of rows in the order of an index asks for several blocks in turns. */
const UNPACKED_MAX = 32;

/** How a collection is packed. */
export interface Packing {
  readonly collection: CollectionName;
  /** Rows whose ids are in one span may be in one block. */
  readonly span: number;
  /** All fields but the id, in their order. */
  readonly names: readonly string[];
}

/**
 * A table for rows that are inserted by the hundred. Rows of one transaction with ids in one span become a block under one key; a single row
 * is stored by its id, as in a plain table, so what was written before blocks existed is read the same way.
 *
 * All keys of a span stand together: a text or number, then lists that begin with it, then longer texts or larger numbers. Blocks of one
 * span overlap, so in the order of ids a span is read whole and sorted.
 */
export class PackedTable implements RecordTable {
  readonly #database: RecordDatabase;
  readonly #packing: Packing;
  readonly #spans: Spans;
  /** A fixed list and not a Map: tables that a Map has outgrown would keep the blocks that they had alive until the next full collection. */
  readonly #unpacked: (RowBlock | undefined)[] = new Array(UNPACKED_MAX).fill(undefined);
  #oldest = 0;

  constructor(database: RecordDatabase, packing: Packing) {
    this.#database = database;
    this.#packing = packing;
    this.#spans = new Spans(packing.span);
  }

  get(id: IndexValue): StoredRecord | undefined {
    const alone = this.#database.get(id);
    if (alone) return this.#decode(alone);
    for (const block of this.#blocks(this.#spans.startOf(id), id, id)) {
      const row = block.get(id);
      if (row) return row;
    }
    return undefined;
  }

  getMany(ids: readonly IndexValue[]): (StoredRecord | undefined)[] {
    const found = new Map<IndexValue, StoredRecord>();
    for (const [span, asked] of Map.groupBy(ids, (id) => this.#spans.startOf(id))) this.#find(span, asked, found);
    return ids.map((id) => found.get(id));
  }

  *range(range: Bounds): Iterable<StoredRecord> {
    const { skip = 0, limit = Number.POSITIVE_INFINITY, ...window } = range;
    let place = 0;
    for (const rows of this.#wholeSpans(window)) {
      for (const row of rows) {
        if (!inRange([row.id], window)) continue;
        if (place >= skip + limit) return;
        if (place++ >= skip) yield row;
      }
    }
  }

  *counts(range: Bounds): Iterable<number> {
    const { skip = 0, limit, ...window } = range;
    if (skip > 0 || limit !== undefined || window.after) return yield [...this.range(range)].length;
    for (const key of this.#database.getKeys(this.#bounds(window))) {
      if (!isBlock(key)) yield inRange([key as IndexValue], window) ? 1 : 0;
      else if (inRange([key[1]], window) && inRange([key[2]], window)) yield key[3];
      else yield this.#open(key)?.ids.filter((id) => inRange([id], window)).length ?? 0;
    }
  }

  encoded(id: IndexValue): Buffer | undefined {
    const row = this.get(id);
    return row && encode(this.#packing.collection, row);
  }

  *encodedRange(range: Bounds): Iterable<{ id: IndexValue; bytes: Buffer }> {
    for (const row of this.range(range)) yield { id: row.id, bytes: encode(this.#packing.collection, row) };
  }

  apply(writes: readonly Write[]): void {
    for (const [span, group] of Map.groupBy(writes, ({ id }) => this.#spans.startOf(id))) {
      const gone = new Set(group.flatMap(({ id, before }) => (before ? [id] : [])));
      if (gone.size > 0) this.#remove(span, gone);
      const added = group.flatMap(({ after }) => (after ? [after] : []));
      if (added.length > 0) this.#insert(span, added);
    }
  }

  #insert(span: IndexValue, rows: StoredRecord[]): void {
    rows.sort(byId);
    const found = new Map<IndexValue, StoredRecord>();
    this.#find(
      span,
      rows.map(({ id }) => id),
      found,
    );
    if (found.size > 0) throw takenId(this.#packing.collection);
    this.#put(span, rows);
  }

  #put(span: IndexValue, rows: readonly StoredRecord[]): void {
    const { collection, names } = this.#packing;
    for (let start = 0; start < rows.length; start += BLOCK_ROWS) {
      const block = rows.slice(start, start + BLOCK_ROWS);
      const [first, last] = [block[0] as StoredRecord, block.at(-1) as StoredRecord];
      if (first === last) this.#database.putSync(first.id, encode(collection, first));
      else this.#database.putSync([span, first.id, last.id, block.length] satisfies BlockKey, packRows(block, names));
    }
  }

  #remove(span: IndexValue, ids: ReadonlySet<IndexValue>): void {
    const [first, last] = ends([...ids]);
    // All keys are read before the first is removed.
    for (const id of [...this.#alone(first, last)]) if (ids.has(id)) this.#database.removeSync(id);
    for (const key of this.#keys(span, first, last)) {
      const block = this.#open(key);
      if (!block?.ids.some((id) => ids.has(id))) continue;
      this.#database.removeSync(key);
      this.#put(
        span,
        [...block.rows()].filter(({ id }) => !ids.has(id)),
      );
    }
  }

  /** Looks for rows of one span. One by one would look at the keys of the span for each. */
  #find(span: IndexValue, ids: readonly IndexValue[], found: Map<IndexValue, StoredRecord>): void {
    const [first, last] = ends(ids);
    if (first === last) {
      const row = this.get(first);
      if (row) found.set(first, row);
      return;
    }
    const alone = new Set(this.#alone(first, last));
    const blocks = [...this.#blocks(span, first, last)];
    if (alone.size === 0 && blocks.length === 0) return;
    for (const id of ids) {
      const bytes = alone.has(id) ? this.#database.get(id) : undefined;
      let row = bytes && this.#decode(bytes);
      for (let place = 0; !row && place < blocks.length; place++) row = blocks[place]?.get(id);
      if (row) found.set(id, row);
    }
  }

  /** Ids between two, both included, that are stored by themselves. */
  *#alone(first: IndexValue, last: IndexValue): Iterable<IndexValue> {
    for (const key of this.#database.getKeys({ start: first, end: last, inclusiveEnd: true })) if (!Array.isArray(key)) yield key;
  }

  *#blocks(span: IndexValue, first: IndexValue, last: IndexValue): Iterable<RowBlock> {
    for (const key of this.#keys(span, first, last)) {
      const block = this.#open(key);
      if (block) yield block;
    }
  }

  /** Keys of a span's blocks that may have ids between two, both included. */
  #keys(span: IndexValue, first: IndexValue, last: IndexValue): BlockKey[] {
    const keys: BlockKey[] = [];
    for (const key of this.#database.getKeys({ start: [span], end: [span, AFTER_ALL] })) {
      if (isBlock(key) && key[1] <= last && key[2] >= first) keys.push(key);
    }
    return keys;
  }

  #open(key: BlockKey): RowBlock | undefined {
    const bytes = this.#database.get(key);
    if (!bytes) return undefined;
    // The bytes tell: a block may have been replaced by one with the same key.
    const known = this.#unpacked.find((block) => block?.ids[0] === key[1] && block.bytes.equals(bytes));
    if (known) return known;
    const block = new RowBlock(bytes, this.#packing.names);
    this.#unpacked[this.#oldest] = block;
    this.#oldest = (this.#oldest + 1) % UNPACKED_MAX;
    return block;
  }

  /** Rows of the spans that may contain some of the range, in scan direction. */
  *#wholeSpans(range: Bounds): Iterable<StoredRecord[]> {
    let open: { span: IndexValue; rows: StoredRecord[] } | undefined;
    for (const { key, value } of this.#database.getRange(this.#bounds(range))) {
      const span = isBlock(key) ? key[0] : this.#spans.startOf(key as IndexValue);
      if (open && open.span !== span) {
        yield inOrder(open.rows, range);
        open = undefined;
      }
      open ??= { span, rows: [] };
      if (isBlock(key)) open.rows.push(...new RowBlock(value, this.#packing.names).rows());
      else open.rows.push(this.#decode(value));
    }
    if (open) yield inOrder(open.rows, range);
  }

  /** From the first key of the lower bound's span to the last of the upper bound's. */
  #bounds({ from, before, after, reverse = false }: Bounds) {
    const beyond = after?.at(-1);
    const low = (reverse ? undefined : beyond) ?? from;
    const high = (reverse ? beyond : undefined) ?? before;
    const window = {
      low: low === undefined ? undefined : this.#spans.startOf(low),
      high: high === undefined ? undefined : this.#spans.endOf(this.#spans.startOf(high)),
      after: undefined,
    };
    return keyBounds({ ...window, range: { reverse } });
  }

  #decode(bytes: Buffer): StoredRecord {
    return decode(this.#packing.collection, bytes) as StoredRecord;
  }
}

function isBlock(key: IndexValue | IndexValue[]): key is BlockKey {
  return Array.isArray(key);
}

function inOrder(rows: StoredRecord[], { reverse = false }: Bounds): StoredRecord[] {
  rows.sort(byId);
  return reverse ? rows.reverse() : rows;
}

/** Ids of one span are numbers or plain characters, which sort as their bytes. */
function byId(left: StoredRecord, right: StoredRecord): number {
  return left.id < right.id ? -1 : left.id > right.id ? 1 : 0;
}

function ends(ids: readonly IndexValue[]): [first: IndexValue, last: IndexValue] {
  let [first, last] = [ids[0] as IndexValue, ids[0] as IndexValue];
  for (const id of ids) {
    if (id < first) first = id;
    if (id > last) last = id;
  }
  return [first, last];
}
