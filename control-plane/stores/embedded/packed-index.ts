import type { RangeOptions } from "lmdb";
import { Packr } from "msgpackr";
import { type IndexDefinition, type IndexValue, indexValues } from "../collections.ts";
import { compareTuples, compareValues, inRange } from "../order.ts";
import type { Write } from "../overlay.ts";
import type { Bounds } from "../store.ts";
import { AFTER_ALL, keyBounds } from "./bounds.ts";
import { type IndexDatabase, type IndexTable, movedValues, NOTHING } from "./index-table.ts";
import { Spans } from "./spans.ts";

/** A record in the index: the value of its last field, and its id. */
interface IndexEntry {
  readonly value: IndexValue;
  readonly id: IndexValue;
}

/** Entries with the same leading fields, in the span that begins at `start`. */
interface Block {
  readonly prefix: readonly IndexValue[];
  readonly start: IndexValue;
  readonly entries: IndexEntry[];
  /** Another block with the same leading fields. */
  readonly earlier?: Block | undefined;
}

const packr = new Packr({ useRecords: false });
/** How MessagePack begins an array. */
const [FIX_ARRAY_LENGTH, ARRAY_16, ARRAY_32] = [0x0f, 0xdc, 0xdd];

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

  apply(writes: readonly Write[]): void {
    const [gone, added] = [new Blocks(), new Blocks()];
    for (const { id, before, after } of writes) {
      const { old, fresh } = before
        ? movedValues(this.#definition, before, after)
        : { old: undefined, fresh: after && indexValues(after, this.#definition) };
      if (old) this.#addTo(gone, old, id);
      if (fresh) this.#addTo(added, fresh, id);
    }
    for (const run of gone.adjacent(this.#spans)) this.#remove(run);
    for (const block of added.all) this.#put(block);
  }

  #addTo(blocks: Blocks, values: IndexValue[], id: IndexValue): void {
    const value = values.pop() as IndexValue;
    blocks.of(values, this.#spans.startOf(value)).entries.push({ value, id });
  }

  #put({ prefix, start, entries }: Block): void {
    const [first] = entries;
    if (!first) return;
    if (entries.length === 1) this.#database.putSync([...prefix, first.value, first.id], NOTHING);
    else this.#database.putSync([...prefix, start, first.id], packr.pack(entries.flatMap(({ value, id }) => [placeIn(start, value), id])));
  }

  /** Removes entries of adjacent spans, whose keys are read at once: to open a range costs as much as to read many keys. */
  #remove([first, ...others]: readonly [Block, ...Block[]]): void {
    const { prefix } = first;
    const ids = new Set([first, ...others].flatMap(({ entries }) => entries.map(({ id }) => id)));
    const range = { start: [...prefix, first.start], end: [...prefix, this.#spans.endOf((others.at(-1) ?? first).start)] };
    const changed: { key: IndexValue[]; left: IndexEntry[] }[] = [];
    for (const { key, value } of this.#database.getRange(range)) {
      const entries = this.#entries(key, value);
      const left = entries.filter(({ id }) => !ids.has(id));
      if (left.length < entries.length) changed.push({ key, left });
    }
    for (const { key } of changed) this.#database.removeSync(key);
    for (const { key, left } of changed) this.#put({ prefix, start: this.#spans.startOf(key[this.#last] as IndexValue), entries: left });
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
    const flat = packr.unpack(value) as IndexValue[];
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

/** The number of entries in a block, by the length that its MessagePack array begins with: to unpack it would take longer than all the rest. */
function entriesIn(block: Buffer): number {
  const [type = 0] = block;
  const values = type === ARRAY_16 ? block.readUInt16BE(1) : type === ARRAY_32 ? block.readUInt32BE(1) : type & FIX_ARRAY_LENGTH;
  return values / 2;
}

/** The blocks that a transaction adds or removes. */
class Blocks {
  readonly all: Block[] = [];
  /** The newest block per leading fields; a batch has few spans of each. */
  readonly #newest = new Map<IndexValue, Block>();

  of(prefix: readonly IndexValue[], start: IndexValue): Block {
    const [only] = prefix;
    const name = prefix.length <= 1 ? (only ?? "") : JSON.stringify(prefix);
    const newest = this.#newest.get(name);
    let block = newest;
    while (block && block.start !== start) block = block.earlier;
    if (block) return block;
    const made: Block = { prefix, start, entries: [], earlier: newest };
    this.#newest.set(name, made);
    this.all.push(made);
    return made;
  }

  /** The blocks in runs with the same leading fields, whose spans follow each other. */
  *adjacent(spans: Spans): Iterable<[Block, ...Block[]]> {
    for (const newest of this.#newest.values()) {
      const blocks = [...withEarlier(newest)].sort((left, right) => compareValues(left.start, right.start));
      let run: [Block, ...Block[]] | undefined;
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

function* withEarlier(newest: Block): Iterable<Block> {
  for (let block: Block | undefined = newest; block; block = block.earlier) yield block;
}

function isOf(block: Block, prefix: readonly IndexValue[], start: IndexValue): boolean {
  return block.start === start && block.prefix.every((part, place) => part === prefix[place]);
}

function inOrder(block: Block): Block {
  block.entries.sort((left, right) => compareValues(left.value, right.value) || compareValues(left.id, right.id));
  return block;
}
