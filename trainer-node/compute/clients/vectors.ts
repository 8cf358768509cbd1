import { createKernels } from "../kernels/create-kernels.ts";
import { type Kernels, padded } from "../kernels/kernels.ts";
import { networkOf } from "../kernels/sorting-network.ts";
import type { Floats } from "../tensor.ts";
import type { Model } from "./model.ts";
import type { ClientRecords, Segment } from "./segments.ts";

/**
 * The float tensors of many clients as one long vector each, worked on a block of columns at a time: memory is a few blocks and the
 * result, however many clients there are. Clients come in the one order that every node gives them, and every sum runs in it.
 */
export interface Vectors {
  readonly count: number;
  /** Σ coefficient · x / divisor, with the base as one more term where it is given. `within` keeps the result between least and greatest. */
  combine(
    coefficients: readonly number[],
    options: { divisor: number; base?: { model: Model; coefficient: number }; within?: boolean },
  ): Floats[];
  /** Each column sorted, then reduced to one number. */
  reduceSorted(reduce: SortedReduce): Floats[];
  /** Squared distances of every pair, row by row. */
  distances(): Float64Array;
  distancesTo(model: Model): Float64Array;
  dots(model: Model): Float64Array;
  /** For every client, the squared distance to `origin` (to zero where it is absent) and the dot product with `step`, in one pass;
   * and the same two of the models themselves: the step's own square and its product with the origin. */
  profile(origin: Model | undefined, step: Model): Profile;
  select(clients: readonly number[]): Vectors;
  zeros(): Floats[];
}

export interface Profile {
  readonly squared: Float64Array;
  readonly dots: Float64Array;
  readonly stepSquared: number;
  readonly originDot: number;
}

/** `rows` hold one sorted block, `stride` elements from row to row; `out` has one place for each column. */
export type SortedReduce = (rows: Floats, stride: number, out: Floats) => void;

interface Block {
  readonly segment: number;
  readonly start: number;
  readonly size: number;
  /** One padded row for each client, then two spare ones for models. */
  readonly rows: readonly Floats[];
  readonly whole: Floats;
  readonly stride: number;
}

/** Rows of one block together: about what a second-level cache holds, but never so little that reading from disk is all seeks. */
const BLOCK_BYTES = 2 ** 20;
const BLOCK_ELEMENTS = { min: 1024, max: 16_384 } as const;
/** Between rows, so that they do not all fall on the same lines of a cache. */
const GAP_ELEMENTS = 16;

export function createVectors(records: ClientRecords, order: readonly number[]): Vectors {
  const blockElements = Math.min(BLOCK_ELEMENTS.max, Math.max(BLOCK_ELEMENTS.min, padded(BLOCK_BYTES / 4 / Math.max(1, order.length))));
  const network = networkOf(order.length);
  const kernels = createKernels((order.length + 5) * (blockElements + GAP_ELEMENTS) * 8 + network.byteLength + order.length * 8 + 4096);
  const scratch = {
    rows: kernels.doubles((order.length + 2) * (blockElements + GAP_ELEMENTS)),
    sum: kernels.doubles(blockElements),
    out: kernels.doubles(blockElements),
    network: kernels.words(network.length),
    weights: kernels.doubles(order.length + 1),
  };
  scratch.network.set(network);
  return vectorsOver({ records, kernels, blockElements, scratch, segments: records.segments.filter((segment) => segment.float) }, order);
}

interface Setting {
  readonly records: ClientRecords;
  readonly kernels: Kernels;
  readonly blockElements: number;
  readonly scratch: {
    readonly rows: Float64Array<ArrayBuffer>;
    readonly sum: Float64Array<ArrayBuffer>;
    readonly out: Float64Array<ArrayBuffer>;
    readonly network: Int32Array<ArrayBuffer>;
    readonly weights: Float64Array<ArrayBuffer>;
  };
  readonly segments: readonly Segment[];
}

function vectorsOver(setting: Setting, order: readonly number[]): Vectors {
  const { kernels, scratch, segments } = setting;
  const count = order.length;
  const zeros = () =>
    segments.map(({ elementBytes, length }) => (elementBytes === 4 ? new Float32Array(length) : new Float64Array(length)));
  const blocks = () => readBlocks(setting, order);
  return {
    count,
    zeros,
    select: (clients) =>
      vectorsOver(
        setting,
        clients.map((client) => order[client] as number),
      ),
    combine: (coefficients, { divisor, base, within = false }) => {
      const result = zeros();
      const weights = scratch.weights.subarray(0, count + (base ? 1 : 0));
      weights.set(coefficients.slice(0, count));
      if (base) weights[count] = base.coefficient;
      for (const block of blocks()) {
        const { segment, start, size, rows } = block;
        if (base) load(rows[count] as Floats, base.model[segment] as Floats, start, size);
        const out = combineBlock(setting, block, { weights, divisor, count, within });
        (result[segment] as Floats).set(out.subarray(0, size), start);
      }
      return result;
    },
    reduceSorted: (reduce) => {
      const result = zeros();
      const comparators = comparatorsOf(setting, count);
      for (const { segment, start, size, rows, whole, stride } of blocks()) {
        kernels.sortRows(whole, comparators, stride);
        const out = outOf(scratch.out, rows[0] as Floats, (rows[0] as Floats).length);
        reduce(whole, stride, out);
        (result[segment] as Floats).set(out.subarray(0, size), start);
      }
      return result;
    },
    distances: () => {
      const sums = new Float64Array(count * count);
      for (const { rows } of blocks()) {
        for (let left = 0; left < count; left++) {
          for (let right = left + 1; right < count; right++) {
            const distance = (sums[left * count + right] as number) + kernels.squaredDistance(rows[left] as Floats, rows[right] as Floats);
            sums[left * count + right] = distance;
            sums[right * count + left] = distance;
          }
        }
      }
      return sums;
    },
    distancesTo: (model) => againstModel(blocks(), model, count, kernels.squaredDistance),
    dots: (model) => againstModel(blocks(), model, count, kernels.dot),
    profile: (origin, step) => {
      const [squared, dots] = [new Float64Array(count), new Float64Array(count)];
      let [stepSquared, originDot] = [0, 0];
      for (const { segment, start, size, rows } of blocks()) {
        const from = origin && load(rows[count] as Floats, origin[segment] as Floats, start, size);
        const along = load(rows[count + 1] as Floats, step[segment] as Floats, start, size);
        stepSquared += kernels.dot(along, along);
        if (from) originDot += kernels.dot(from, along);
        for (let client = 0; client < count; client++) {
          const row = rows[client] as Floats;
          squared[client] = (squared[client] as number) + (from ? kernels.squaredDistance(row, from) : kernels.dot(row, row));
          dots[client] = (dots[client] as number) + kernels.dot(row, along);
        }
      }
      return { squared, dots, stepSquared, originDot };
    },
  };
}

/** Every block of every float tensor, its rows filled and their padding zero. The rows are the same memory each time. */
function* readBlocks({ records, scratch, blockElements, segments }: Setting, order: readonly number[]): Generator<Block> {
  for (const [index, segment] of segments.entries()) {
    let room: BlockRoom | undefined;
    for (let start = 0; start < segment.length; start += blockElements) {
      const size = Math.min(blockElements, segment.length - start);
      if (room?.size !== size) room = blockRoom(scratch.rows, { size, elementBytes: segment.elementBytes, rows: order.length + 2 });
      for (let at = 0; at < order.length; at++) records.read(order[at] as number, segment, start, room.bytes[at] as Uint8Array);
      yield { segment: index, start, ...room, whole: rowsTogether(room.rows[0] as Floats, order.length * room.stride) };
    }
  }
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

function combineBlock(
  { kernels, scratch }: Setting,
  { rows, whole, stride }: Block,
  { weights, divisor, count, within }: { weights: Float64Array; divisor: number; count: number; within: boolean },
): Floats {
  const first = rows[0] as Floats;
  const out = outOf(scratch.out, first, first.length);
  if (out instanceof Float32Array) {
    kernels.combineRows(out, whole as Float32Array, stride, weights, divisor);
    return out;
  }
  // -0 is the one start that leaves every first term as it is, a negative zero too.
  const sum = scratch.sum.subarray(0, first.length).fill(-0);
  for (let row = 0; row < weights.length; row++) kernels.addScaled(sum, rows[row] as Floats, weights[row] as number);
  kernels.divide(out, sum, divisor);
  if (within) keepWithin(out, rows.slice(0, count));
  return out;
}

function rowsTogether(first: Floats, length: number): Floats {
  return first instanceof Float32Array
    ? new Float32Array(first.buffer as ArrayBuffer, first.byteOffset, length)
    : new Float64Array(first.buffer as ArrayBuffer, first.byteOffset, length);
}

function load(row: Floats, model: Floats, start: number, size: number): Floats {
  row.fill(0, size);
  row.set(model.subarray(start, start + size));
  return row;
}

function outOf(memory: Float64Array<ArrayBuffer>, like: Floats, length: number): Floats {
  return like instanceof Float32Array ? new Float32Array(memory.buffer, memory.byteOffset, length) : memory.subarray(0, length);
}

function comparatorsOf({ kernels, scratch }: Setting, count: number): Int32Array {
  const network = networkOf(count);
  const room = scratch.network.length >= network.length ? scratch.network.subarray(0, network.length) : kernels.words(network.length);
  room.set(network);
  return room;
}

function againstModel(blocks: Iterable<Block>, model: Model, count: number, measure: (row: Floats, spare: Floats) => number): Float64Array {
  const sums = new Float64Array(count);
  for (const { segment, start, size, rows } of blocks) {
    const spare = load(rows[count] as Floats, model[segment] as Floats, start, size);
    for (let client = 0; client < count; client++) sums[client] = (sums[client] as number) + measure(rows[client] as Floats, spare);
  }
  return sums;
}

/**
 * A mean lies between the least and the greatest; rounding in the last place of float64 must not take it out of there, or
 * equal clients would not give back what they all sent. Float32 has digits to spare in the accumulator and needs no such care.
 */
function keepWithin(out: Float64Array, rows: readonly Floats[]): void {
  for (let index = 0; index < out.length; index++) {
    let least = Number.POSITIVE_INFINITY;
    let greatest = Number.NEGATIVE_INFINITY;
    for (const row of rows) {
      least = Math.min(least, row[index] as number);
      greatest = Math.max(greatest, row[index] as number);
    }
    out[index] = Math.min(Math.max(out[index] as number, least), greatest);
  }
}
