import type { RangeOptions } from "lmdb";
import { type IndexDefinition, type IndexValue, indexValues } from "../collections.ts";
import { compareTuples, compareValues, inRange } from "../order.ts";
import type { Write } from "../overlay.ts";
import type { Bounds } from "../store.ts";
import { AFTER_ALL, keyBounds } from "./bounds.ts";
import { type IndexDatabase, type IndexTable, movedValues, NOTHING } from "./index-table.ts";
import { entriesIn, PackedEntries, unpackEntries } from "./packed-entries.ts";
import { Spans } from "./spans.ts";

/** A record in the index: the value of its last field, and its id. */
interface IndexEntry {
  readonly value: IndexValue;
  readonly id: IndexValue;
}

/** Where entries are: their leading fields, and the span that begins at `start`. */
interface Place {
  readonly prefix: readonly IndexValue[];
  readonly start: IndexValue;
}

/** Entries as they are read. */
interface Block extends Place {
  readonly entries: IndexEntry[];
}

/** Entries as they are written: for each the place of its value in the span, then its id, in one list, because each call adds entries to five blocks. */
interface FlatBlock extends Place {
  readonly flat: IndexValue[];
  /** Another block with the same leading fields. */
  readonly earlier?: FlatBlock | undefined;
}

/**
 * An index for rows that are inserted by the hundred. Entries of one transaction with the same leading fields and in one span of the
 * last field become one key whose value is a block of entries; with one key per entry, the index took a third of the cost of settling a
 * call. The key of a block is that of its first entry, moved to the start of the span. A single entry is a key with an empty value, as
 * in a plain index, so entries written before blocks existed are read the same way.
 *
 * Blocks of one span overlap: a span is read whole, sorted, then cut to the requested range.
 */
export class PackedIndex implements IndexTable {
  readonly #database: IndexDatabase;
  readonly #definition: IndexDefinition;
  readonly #spans: Spans;
  /** Position in a key of the field that is divided into spans. */
  readonly #last: number;

  constructor(database: IndexDatabase, definition: IndexDefinition, span: number) {
    this.#database = database;
    this.#definition = definition;
    this.#spans = new Spans(span);
    this.#last = definition.fields.length - 1;
  }

  *ids(range: Bounds): Iterable<IndexValue> {
    const { skip = 0, limit = Number.POSITIVE_INFINITY, ...window } = range;
    let place = 0;
    for (const { prefix, entries } of this.#blocks(window)) {
      for (const { value, id } of window.reverse ? entries.reverse() : entries) {
        if (!inRange([...prefix, value, id], window)) continue;
        if (place >= skip + limit) return;
        if (place++ >= skip) yield id;
      }
    }
  }

  idsOfEach(values: readonly IndexValue[]): IndexValue[][] {
    if (this.#last > 0) return values.map((value) => [...this.ids({ equals: [value] })]);
    const found = new Map<IndexValue, IndexValue[]>(values.map((value) => [value, []]));
    // The blocks of a span are read once for all values in it.
    for (const [start, wanted] of Map.groupBy(found.keys(), (value) => this.#spans.startOf(value))) {
      for (const position of new Set([start, ...wanted])) {
        for (const { key, value } of this.#database.getRange({ start: [position], end: [position, AFTER_ALL] })) {
          for (const entry of this.#entries(key, value)) found.get(entry.value)?.push(entry.id);
        }
      }
    }
    return values.map((value) => (found.get(value) ?? []).sort(compareValues));
  }

  *counts(range: Bounds): Iterable<number> {
    const { skip = 0, limit, ...window } = range;
    if (skip > 0 || limit !== undefined || window.after || this.#isExact(range)) return yield [...this.ids(range)].length;
    // Bounds are of the divided field only if all fields before it are given.
    const isBounded = window.from !== undefined || window.before !== undefined;
    const isDivided = window.equals?.length === this.#last;
    for (const { key, value } of this.#database.getRange(this.#bounds(window))) {
      const start = this.#spans.startOf(key[this.#last] as IndexValue);
      const isWhole = !isBounded || (isDivided && this.#isWithin(start, window));
      if (isWhole) yield value.length === 0 ? 1 : entriesIn(value);
      else yield this.#entries(key, value).filter((entry) => inRange([...key.slice(0, this.#last), entry.value, entry.id], window)).length;
    }
  }

  /** Whether all of a span is in the range. */
  #isWithin(start: IndexValue, { from, before }: Bounds): boolean {
    if (from !== undefined && compareValues(from, start) > 0) return false;
    return before === undefined || compareValues(before, this.#spans.endOf(start)) >= 0;
  }

  apply(writes: readonly Write[], packed = new PackedEntries()): void {
    const [gone, added] = [new Blocks(), new Blocks()];
    for (const { id, before, after } of writes) {
      const moved = before && movedValues(this.#definition, before, after);
      if (before && moved?.old) this.#addTo(gone, before, id);
      if (after && (!moved || moved.fresh)) this.#addTo(added, after, id);
    }
    for (const run of gone.adjacent(this.#spans)) this.#remove(run, packed);
    for (const block of added.all) this.#put(block, packed);
  }

  #addTo(blocks: Blocks, record: object, id: IndexValue): void {
    const { fields } = this.#definition;
    const value = fieldOf(record, fields[this.#last]);
    if (value === undefined) return;
    const start = this.#spans.startOf(value);
    let { last: block } = blocks;
    if (block?.start !== start || !block.prefix.every((part, place) => part === fieldOf(record, fields[place]))) {
      const values = indexValues(record, this.#definition);
      if (!values) return;
      block = blocks.of(values.slice(0, this.#last), start);
    }
    block.flat.push(placeIn(start, value), id);
  }

  #put({ prefix, start, flat }: FlatBlock, packed: PackedEntries): void {
    const [place, id] = flat;
    if (place === undefined || id === undefined) return;
    if (flat.length === 2) this.#database.putSync([...prefix, valueAt(start, place), id], NOTHING);
    else this.#database.putSync([...prefix, start, id], packed.bytesOf(flat));
  }

  /** Removes entries of adjacent spans, whose keys are read at once: to open a range costs as much as to read many keys. */
  #remove([first, ...others]: readonly [FlatBlock, ...FlatBlock[]], packed: PackedEntries): void {
    const { prefix } = first;
    const ids = new Set([first, ...others].flatMap(({ flat }) => flat.filter((_, position) => position % 2 === 1)));
    const range = { start: [...prefix, first.start], end: [...prefix, this.#spans.endOf((others.at(-1) ?? first).start)] };
    const changed: { key: IndexValue[]; left: IndexEntry[] }[] = [];
    for (const { key, value } of this.#database.getRange(range)) {
      const entries = this.#entries(key, value);
      const left = entries.filter(({ id }) => !ids.has(id));
      if (left.length < entries.length) changed.push({ key, left });
    }
    for (const { key } of changed) this.#database.removeSync(key);
    for (const { key, left } of changed) {
      const start = this.#spans.startOf(key[this.#last] as IndexValue);
      this.#put({ prefix, start, flat: left.flatMap(({ value, id }) => [placeIn(start, value), id]) }, packed);
    }
  }

  /** Whether the range is of one value of the divided field. */
  #isExact({ equals = [] }: Bounds): boolean {
    return equals.length > this.#last;
  }

  /** Spans that may contain entries of the range, in scan direction; the entries of each span ascend. */
  *#blocks(range: Bounds): Iterable<Block> {
    let open: Block | undefined;
    for (const { key, value } of this.#isExact(range) ? this.#exactly(range.equals ?? []) : this.#database.getRange(this.#bounds(range))) {
      const prefix = key.slice(0, this.#last);
      const start = this.#spans.startOf(key[this.#last] as IndexValue);
      if (open && !isOf(open, prefix, start)) {
        yield inOrder(open);
        open = undefined;
      }
      open ??= { prefix, start, entries: [] };
      for (const entry of this.#entries(key, value)) open.entries.push(entry);
    }
    if (open) yield inOrder(open);
  }

  /** The keys that may have entries of one value: those of the value alone, and the blocks of its span, but not the span's other single entries. */
  *#exactly(equals: readonly IndexValue[]) {
    const start = this.#widen(equals, "startOf");
    const alone = equals.slice(0, this.#last + 1);
    for (const position of compareTuples(start, alone) === 0 ? [start] : [start, alone]) {
      yield* this.#database.getRange({ start: position, end: [...position, AFTER_ALL] });
    }
  }

  /** From the start of the span of the lower bound to the end of the span of the upper bound. */
  #bounds({ equals = [], from, before, after, reverse = false }: Bounds): RangeOptions {
    const low = !reverse && after ? after : from === undefined ? equals : [...equals, from];
    const high = reverse && after ? after : before === undefined ? equals : [...equals, before];
    const window = { low: this.#widen(low, "startOf"), high: [...this.#widen(high, "endOf"), AFTER_ALL], after: undefined };
    return keyBounds({ ...window, range: { reverse } });
  }

  #widen(values: readonly IndexValue[], to: "startOf" | "endOf"): IndexValue[] {
    const position = values.slice(0, this.#last + 1);
    const value = position[this.#last];
    if (value !== undefined) position[this.#last] = this.#spans[to](this.#spans.startOf(value));
    return position;
  }

  #entries(key: readonly IndexValue[], value: Buffer): IndexEntry[] {
    const [first, id] = key.slice(this.#last) as [IndexValue, IndexValue];
    if (value.length === 0) return [{ value: first, id }];
    const flat = unpackEntries(value);
    return Array.from({ length: flat.length / 2 }, (_, place) => ({
      value: valueAt(first, flat[2 * place] as IndexValue),
      id: flat[2 * place + 1] as IndexValue,
    }));
  }
}

/** A value as it is stored in a block: what it has beyond the start of the span. */
function placeIn(start: IndexValue, value: IndexValue): IndexValue {
  return typeof value === "number" ? value - (start as number) : value.slice((start as string).length);
}

function valueAt(start: IndexValue, place: IndexValue): IndexValue {
  return typeof start === "number" ? start + (place as number) : start + place;
}

function fieldOf(record: object, name: string | undefined): IndexValue | undefined {
  return (record as Record<string, IndexValue>)[name as string];
}

/** The blocks that a transaction adds or removes. */
class Blocks {
  readonly all: FlatBlock[] = [];
  /** Of the entry before: most entries of a batch are in one block. */
  last: FlatBlock | undefined;
  /** The newest block per leading fields; a batch has few spans of each. */
  readonly #newest = new Map<IndexValue, FlatBlock>();

  of(prefix: readonly IndexValue[], start: IndexValue): FlatBlock {
    const [only] = prefix;
    const name = prefix.length <= 1 ? (only ?? "") : JSON.stringify(prefix);
    const newest = this.#newest.get(name);
    let block = newest;
    while (block && block.start !== start) block = block.earlier;
    this.last = block ?? this.#make({ prefix, start, earlier: newest }, name);
    return this.last;
  }

  #make(place: Omit<FlatBlock, "flat">, name: IndexValue): FlatBlock {
    const made: FlatBlock = { ...place, flat: [] };
    this.#newest.set(name, made);
    this.all.push(made);
    return made;
  }

  /** The blocks in runs with the same leading fields, whose spans follow each other. */
  *adjacent(spans: Spans): Iterable<[FlatBlock, ...FlatBlock[]]> {
    for (const newest of this.#newest.values()) {
      const blocks = [...withEarlier(newest)].sort((left, right) => compareValues(left.start, right.start));
      let run: [FlatBlock, ...FlatBlock[]] | undefined;
      for (const block of blocks) {
        const last = run?.at(-1);
        if (run && last && spans.endOf(last.start) === block.start) run.push(block);
        else {
          if (run) yield run;
          run = [block];
        }
      }
      if (run) yield run;
    }
  }
}

function* withEarlier(newest: FlatBlock): Iterable<FlatBlock> {
  for (let block: FlatBlock | undefined = newest; block; block = block.earlier) yield block;
}

function isOf(block: Block, prefix: readonly IndexValue[], start: IndexValue): boolean {
  return block.start === start && block.prefix.every((part, place) => part === prefix[place]);
}

function inOrder(block: Block): Block {
  block.entries.sort((left, right) => compareValues(left.value, right.value) || compareValues(left.id, right.id));
  return block;
}
