import { type Kernels, padded } from "../kernels/kernels.ts";
import type { Floats } from "../tensor.ts";
import type { ClientRecords, Segment } from "./segments.ts";

/** Between rows, so that they do not all fall on the same lines of a cache. */
export const GAP_ELEMENTS = 16;

/** What a pass over the clients works with. */
export interface Setting {
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

export interface Block {
  readonly segment: number;
  readonly start: number;
  readonly size: number;
  /** One padded row for each client, then two spare ones for models. */
  readonly rows: readonly Floats[];
  readonly whole: Floats;
  readonly stride: number;
}

/** Every block of every float tensor, its rows filled and their padding zero. The rows are the same memory each time. */
export function* readBlocks(
  { records, scratch, blockElements, segments }: Setting,
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
  /** Where the row of each client begins; the caller may add a row. The same list each time. */
  readonly places: number[];
  /** Two padded rows for models. */
  readonly spares: readonly [Float32Array, Float32Array];
}

/**
 * Every block of every float32 tensor with its rows left where they lie; what is on disk is read into the scratch rows. Behind the last
 * element of a tensor is anything, or zeros where `tails` asks for them.
 */
export function* placedBlocks(setting: Setting, order: readonly number[], options: PlacedOptions): Generator<PlacedBlock> {
  for (const [index, segment] of setting.segments.entries())
    if (!isDouble(segment)) yield* placedSegment(setting, order, { ...options, index, segment });
}

interface PlacedOptions {
  readonly elements: number;
  readonly tails: "any" | "zero";
}

function* placedSegment(
  { records, scratch }: Setting,
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
    // Where no row is copied, the scratch rows are the spare ones alone.
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

/** Where a row begins: where its tensor lies, or in the scratch row it is read to. */
function placeOf(
  records: ClientRecords,
  { client, segment, start }: { client: number; segment: Segment; start: number },
  stays: number | undefined,
  target: Uint8Array | undefined,
): number {
  if (stays !== undefined) return stays + start * 4;
  if (!target) throw new Error("a row that is copied has no scratch row");
  records.read(client, segment, start, target);
  return target.byteOffset;
}

export function isDouble({ elementBytes }: Segment): boolean {
  return elementBytes === 8;
}

type BlockRoom = Pick<Block, "size" | "rows" | "stride"> & { readonly bytes: readonly Uint8Array[] };

/** Views of the rows of one block size; made once and used for every block of it. */
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
