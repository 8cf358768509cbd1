import { type Kernels, padded } from "../kernels/kernels.ts";
import type { Floats } from "../tensor.ts";
import type { ClientRecords, Segment } from "./segments.ts";

/** Gap between rows, so that they do not all map to the same cache lines. */
export const GAP_ELEMENTS = 16;

/** What a pass over the clients works with. */
export interface BlockContext {
  readonly records: ClientRecords;
  readonly kernels: Kernels;
  readonly blockElements: number;
  readonly scratch: {
    readonly rows: Float64Array<ArrayBuffer>;
    readonly sum: Float64Array<ArrayBuffer>;
    readonly out: Float64Array<ArrayBuffer>;
    readonly network: Int32Array<ArrayBuffer>;
    readonly pair: Float64Array<ArrayBuffer>;
  };
  readonly segments: readonly Segment[];
}

/** A block of columns of all clients. */
export interface Block {
  readonly segment: number;
  readonly start: number;
  readonly size: number;
  /** One padded row per client, then two spare rows for models. */
  readonly rows: readonly Floats[];
  readonly whole: Floats;
  readonly stride: number;
}

/** Reads every block of every float tensor, with zero padding. All blocks use the same memory. */
export function* readBlocks(
  { records, scratch, blockElements, segments }: BlockContext,
  order: readonly number[],
  wanted: (segment: Segment) => boolean = () => true,
): Generator<Block> {
  for (const [index, segment] of segments.entries()) {
    if (!wanted(segment)) continue;
    let room: BlockRoom | undefined;
    for (let start = 0; start < segment.length; start += blockElements) {
      const size = Math.min(blockElements, segment.length - start);
      if (room?.size !== size) room = blockRoom(scratch.rows, { size, elementBytes: segment.elementBytes, rows: order.length + 2 });
      for (let at = 0; at < order.length; at++) records.read(order[at] as number, segment, start, room.bytes[at] as Uint8Array);
      yield { segment: index, start, ...room, whole: rowsTogether(room.rows[0] as Floats, order.length * room.stride) };
    }
  }
}

interface PlacedBlock {
  readonly segment: number;
  readonly start: number;
  readonly size: number;
  /** The address of each client's row; the caller may add a row. All blocks use the same list. */
  readonly places: number[];
  /** Two padded rows for models. */
  readonly spares: readonly [Float32Array, Float32Array];
}

/**
 * Reads every block of every float32 tensor without copying rows that are in memory; rows on disk are read into the scratch rows. Bytes
 * behind the last element of a tensor are undefined, or zeros if `tails` requests them.
 */
export function* placedBlocks(setting: BlockContext, order: readonly number[], options: PlacedOptions): Generator<PlacedBlock> {
  for (const [index, segment] of setting.segments.entries())
    if (!isDouble(segment)) yield* placedSegment(setting, order, { ...options, index, segment });
}

interface PlacedOptions {
  readonly elements: number;
  readonly tails: "any" | "zero";
}

function* placedSegment(
  { records, scratch }: BlockContext,
  order: readonly number[],
  { elements, tails, index, segment }: PlacedOptions & { index: number; segment: Segment },
): Generator<PlacedBlock> {
  const starts = order.map((client) => records.place(client, segment));
  const allStay = starts.every((place) => place !== undefined);
  const places: number[] = [];
  let room: BlockRoom | undefined;
  for (let start = 0; start < segment.length; start += elements) {
    const size = Math.min(elements, segment.length - start);
    const mayStay = tails === "any" || size === padded(size);
    // If no row is copied, the scratch has the spare rows only.
    const copied = mayStay && allStay ? 0 : order.length;
    if (room?.size !== size) room = blockRoom(scratch.rows, { size, elementBytes: 4, rows: copied + 2 });
    const { rows, bytes } = room;
    for (let at = 0; at < starts.length; at++) {
      places[at] = placeOf(records, { client: order[at] as number, segment, start }, mayStay ? starts[at] : undefined, bytes[at]);
    }
    const spares = [rows[copied], rows[copied + 1]] as [Float32Array, Float32Array];
    yield { segment: index, start, size, places, spares };
  }
}

/** The address of a row: that of its tensor, or of the scratch row that it is read to. */
function placeOf(
  records: ClientRecords,
  { client, segment, start }: { client: number; segment: Segment; start: number },
  stays: number | undefined,
  target: Uint8Array | undefined,
): number {
  if (stays !== undefined) return stays + start * 4;
  if (!target) throw new Error("a copied row has no scratch row");
  records.read(client, segment, start, target);
  return target.byteOffset;
}

/** Whether a segment has float64 elements. */
export function isDouble({ elementBytes }: Segment): boolean {
  return elementBytes === 8;
}

type BlockRoom = Pick<Block, "size" | "rows" | "stride"> & { readonly bytes: readonly Uint8Array[] };

/** Views of the rows for one block size, reused for all blocks of that size. */
function blockRoom(memory: Float64Array<ArrayBuffer>, like: { size: number; elementBytes: number; rows: number }): BlockRoom {
  const { size, elementBytes } = like;
  const stride = padded(size) + GAP_ELEMENTS;
  const places = Array.from({ length: like.rows }, (_, at) => memory.byteOffset + at * stride * elementBytes);
  const rows = places.map(
    (offset): Floats =>
      elementBytes === 4 ? new Float32Array(memory.buffer, offset, padded(size)) : new Float64Array(memory.buffer, offset, padded(size)),
  );
  for (const row of rows) row.fill(0, size);
  return { size, stride, rows, bytes: places.map((offset) => new Uint8Array(memory.buffer, offset, size * elementBytes)) };
}

function rowsTogether(first: Floats, length: number): Floats {
  return first instanceof Float32Array
    ? new Float32Array(first.buffer as ArrayBuffer, first.byteOffset, length)
    : new Float64Array(first.buffer as ArrayBuffer, first.byteOffset, length);
}
