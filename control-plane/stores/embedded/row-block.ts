import type { IndexValue } from "../collections.ts";
import { Columns, packColumns } from "./columns.ts";
import type { StoredRecord } from "./record-table.ts";

/** The length of the ids stands before them, so that they are read without the rows. */
const LENGTH_BYTES = 4;
const ID = ["id"];

/** Rows in the order of their ids as the bytes that are stored. `names` are all other fields, in their order. */
export function packRows(rows: readonly StoredRecord[], names: readonly string[]): Buffer {
  const length = Buffer.allocUnsafe(LENGTH_BYTES);
  const ids = packColumns(rows, ID);
  length.writeUInt32LE(ids.length);
  return Buffer.concat([length, ids, packColumns(rows, names)]);
}

/** Rows that are stored together. */
export class RowBlock {
  readonly bytes: Buffer;
  readonly ids: readonly IndexValue[];
  readonly #names: readonly string[];
  #columns: Columns | undefined;

  constructor(bytes: Buffer, names: readonly string[]) {
    this.bytes = bytes;
    this.#names = names;
    const ids = new Columns(bytes.subarray(LENGTH_BYTES, this.#rowsAt));
    this.ids = Array.from({ length: ids.rows }, (_, row) => ids.value(0, row) as IndexValue);
  }

  /** A new object each time it is asked for; undefined if the id is not here. */
  get(id: IndexValue): StoredRecord | undefined {
    let [low, high] = [0, this.ids.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.ids[middle] as IndexValue) < id) low = middle + 1;
      else high = middle;
    }
    return this.ids[low] === id ? this.#row(low) : undefined;
  }

  *rows(): Iterable<StoredRecord> {
    for (let place = 0; place < this.ids.length; place++) yield this.#row(place);
  }

  #row(place: number): StoredRecord {
    this.#columns ??= new Columns(this.bytes.subarray(this.#rowsAt));
    const row: Record<string, unknown> = { id: this.ids[place] };
    // A release that has other fields has fewer or more columns.
    for (let position = 0; position < Math.min(this.#columns.count, this.#names.length); position++) {
      const value = this.#columns.value(position, place);
      // An absent field stays absent instead of null.
      if (value !== null && value !== undefined) row[this.#names[position] as string] = value;
    }
    return row as StoredRecord;
  }

  get #rowsAt(): number {
    return LENGTH_BYTES + this.bytes.readUInt32LE();
  }
}
