import { Packr } from "msgpackr";
import type { IndexValue } from "../collections.ts";

const packr = new Packr({ useRecords: false });
/** How MessagePack begins an array. */
const [FIX_ARRAY_LENGTH, ARRAY_16, ARRAY_32] = [0x0f, 0xdc, 0xdd];

/** Packs the entries of one transaction for all indexes of a collection: those by team and those by key are often the same. */
export class PackedEntries {
  /** By the id of their first entry. */
  readonly #known = new Map<IndexValue | undefined, { readonly flat: readonly IndexValue[]; readonly bytes: Buffer }>();

  /** Entries as the value of a block: for each the place of its value in the span, then its id. */
  bytesOf(flat: readonly IndexValue[]): Buffer {
    const known = this.#known.get(flat[1]);
    if (known && isSameList(known.flat, flat)) return known.bytes;
    const bytes = packr.pack(flat);
    this.#known.set(flat[1], { flat, bytes });
    return bytes;
  }
}

function isSameList(left: readonly IndexValue[], right: readonly IndexValue[]): boolean {
  return left.length === right.length && left.every((value, position) => value === right[position]);
}

export function unpackEntries(block: Buffer): IndexValue[] {
  return packr.unpack(block) as IndexValue[];
}

/** The number of entries in a block, by the length that its MessagePack array begins with: to unpack it would take longer than all the rest. */
export function entriesIn(block: Buffer): number {
  const [type = 0] = block;
  const values = type === ARRAY_16 ? block.readUInt16BE(1) : type === ARRAY_32 ? block.readUInt32BE(1) : type & FIX_ARRAY_LENGTH;
  return values / 2;
}
