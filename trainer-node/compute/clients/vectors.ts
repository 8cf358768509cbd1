import { withSlack } from "../kernels/allocator.ts";
import { createKernels } from "../kernels/create-kernels.ts";
import { KERNEL_BYTES_MAX } from "../kernels/kernel-memory.ts";
import { padded } from "../kernels/kernels.ts";
import { networkOf } from "../kernels/sorting-network.ts";
import type { Floats } from "../tensor.ts";
import { type Block, type BlockContext, GAP_ELEMENTS, isDouble, placedBlocks, readBlocks } from "./blocks.ts";
import type { Model } from "./model.ts";
import { type Lengths, lengthsOf, scaledSquare } from "./scaled-distance.ts";
import type { ClientRecords } from "./segments.ts";
import { reduceByWeight } from "./weighted-columns.ts";

/**
 * The float tensors of many clients as one long vector each, processed by blocks of columns: memory is a few blocks and the result,
 * independent of the number of clients. Clients have the same order on every node, and every sum follows it.
 */
export interface Vectors {
  readonly count: number;
  /**
   * Σ coefficient · x / divisor, with the base as one more term if given. `within` keeps the result between the least and the greatest
   * value.
   */
  combine(
    coefficients: readonly number[],
    options: { divisor: number; base?: { model: Model; coefficient: number }; within?: boolean },
  ): Floats[];
  /** Sorts each column and reduces it to one number. */
  reduceSorted(reduce: SortedReduce): Floats[];
  /** The weighted median of each column: the least value that half of the weight is not above. */
  weightedMedian(weights: readonly number[]): Floats[];
  /** Squared distances of all pairs, row by row. */
  distances(): Float64Array;
  /** Squared distances to a model. */
  distancesTo(model: Model): Float64Array;
  /** Distances to a model, in a unit in which they are finite. */
  lengthsTo(model: Model): Lengths;
  dots(model: Model): Float64Array;
  /** For every client, the squared distance to `origin` (to zero where it is absent) and the dot product with `step`, in one pass;
   * and the same two of the models themselves: the step's own square and its product with the origin. */
  profile(origin: Model | undefined, step: Model): Profile;
  select(clients: readonly number[]): Vectors;
  zeros(): Floats[];
}

/** Distances and dot products of the clients and of the result. */
export interface Profile {
  readonly squared: Float64Array;
  readonly dots: Float64Array;
  readonly stepSquared: number;
  readonly originDot: number;
}

/** Reduces a sorted block. `rows` has `stride` elements from row to row; `out` has one element per column. */
export type SortedReduce = (rows: Floats, stride: number, out: Floats) => void;

/** Bytes of all rows of a block: about a second-level cache, but enough that reads from disk are not dominated by seeks. */
const BLOCK_BYTES = 2 ** 20;
const BLOCK_ELEMENTS = { min: 1024, max: 16_384 } as const;
/** Columns at a time of a sum over rows in memory: the float64 sums fit a second-level cache, and rows are read in long runs. */
const SUM_ELEMENTS = 16_384;

/** Opens the vectors of clients in an order. */
export function createVectors(records: ClientRecords, order: readonly number[]): Vectors {
  const blockElements = Math.min(BLOCK_ELEMENTS.max, Math.max(BLOCK_ELEMENTS.min, padded(BLOCK_BYTES / 4 / Math.max(1, order.length))));
  const network = networkOf(order.length);
  const bytes = ((order.length + 5) * (blockElements + GAP_ELEMENTS) + 2 * SUM_ELEMENTS) * 8 + network.byteLength + 4096;
  ensureResult(records, withSlack(bytes));
  const kernels = createKernels(bytes, records.memory);
  const scratch = {
    rows: kernels.doubles((order.length + 2) * (blockElements + GAP_ELEMENTS)),
    sum: kernels.doubles(Math.max(blockElements, SUM_ELEMENTS)),
    out: kernels.doubles(Math.max(blockElements, SUM_ELEMENTS)),
    network: kernels.words(network.length),
    pair: kernels.doubles(2),
  };
  scratch.network.set(network);
  // Results go above the scratch.
  records.memory.reserve(withSlack(bytes));
  return vectorsOver({ records, kernels, blockElements, scratch, segments: records.segments.filter((segment) => segment.float) }, order);
}

/** Reserves space for one model beside the scratch if memory allows: memory cannot grow while the scratch is in use. */
function ensureResult({ memory, segments }: ClientRecords, scratchBytes: number): void {
  const modelBytes = segments.reduce((sum, { float, length, elementBytes }) => sum + (float ? padded(length) * elementBytes : 0), 0);
  const end = memory.top + scratchBytes + modelBytes;
  if (end <= KERNEL_BYTES_MAX) memory.ensure(end);
}

function vectorsOver(setting: BlockContext, order: readonly number[]): Vectors {
  const { kernels, scratch, segments } = setting;
  const count = order.length;
  const zeros = () =>
    segments.map(({ elementBytes, length }) => (elementBytes === 4 ? new Float32Array(length) : new Float64Array(length)));
  const unwritten = () => segments.map(({ elementBytes, length }) => setting.records.results.take(length, elementBytes));
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
      const result = unwritten();
      const weights = [...coefficients.slice(0, count), ...(base ? [base.coefficient] : [])];
      for (const block of readBlocks(setting, order, isDouble)) {
        const { segment, start, size, rows } = block;
        if (base) load(rows[count] as Floats, base.model[segment] as Floats, start, size);
        put(result, block, combineDoubles(setting, block, { weights, divisor, count, within }));
      }
      combineFloats(setting, order, { result, weights, divisor, base: base?.model });
      return result;
    },
    reduceSorted: (reduce) => {
      const result = unwritten();
      const comparators = comparatorsOf(setting, count);
      for (const { segment, start, size, rows, whole, stride } of blocks()) {
        kernels.sortRows(whole, comparators, stride);
        const out = outOf(scratch.out, rows[0] as Floats, (rows[0] as Floats).length);
        reduce(whole, stride, out);
        (result[segment] as Floats).set(out.subarray(0, size), start);
      }
      return result;
    },
    weightedMedian: (weights) => {
      const result = unwritten();
      const comparators = comparatorsOf(setting, count);
      for (const { segment, start, size, rows, whole, stride } of blocks()) {
        const given = whole.slice();
        kernels.sortRows(whole, comparators, stride);
        const out = outOf(scratch.out, rows[0] as Floats, (rows[0] as Floats).length);
        reduceByWeight({ given, sorted: whole, stride }, weights, out.subarray(0, size));
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
    lengthsTo: (model) =>
      lengthsOf(againstModel(blocks(), model, count, kernels.squaredDistance), () => againstModel(blocks(), model, count, scaledSquare)),
    dots: (model) => againstModel(blocks(), model, count, kernels.dot),
    profile: (origin, step) => profileOf(setting, order, origin, step),
  };
}

function profileOf(setting: BlockContext, order: readonly number[], origin: Model | undefined, step: Model): Profile {
  const { kernels, scratch } = setting;
  const count = order.length;
  const [squared, dots] = [new Float64Array(count), new Float64Array(count)];
  let [stepSquared, originDot] = [0, 0];
  const add = (client: number, square: number, dot: number): void => {
    squared[client] = (squared[client] as number) + square;
    dots[client] = (dots[client] as number) + dot;
  };
  const addModels = (from: Floats | undefined, along: Floats): void => {
    stepSquared += kernels.dot(along, along);
    if (from) originDot += kernels.dot(from, along);
  };
  for (const { segment, start, size, rows } of readBlocks(setting, order, isDouble)) {
    const from = origin && load(rows[count] as Floats, origin[segment] as Floats, start, size);
    const along = load(rows[count + 1] as Floats, step[segment] as Floats, start, size);
    addModels(from, along);
    for (const [client, row] of rows.slice(0, count).entries())
      add(client, from ? kernels.squaredDistance(row, from) : kernels.dot(row, row), kernels.dot(row, along));
  }
  // Blocks have one size for records in memory and on disk, or the last digits of the sums would differ.
  for (const { segment, start, size, places, spares } of placedBlocks(setting, order, {
    elements: setting.blockElements,
    tails: "zero",
  })) {
    const from = origin && load(spares[0], origin[segment] as Float32Array, start, size);
    const along = load(spares[1], step[segment] as Float32Array, start, size);
    addModels(from, along);
    for (const [client, place] of places.entries()) {
      kernels.squareAndDot(place, along, scratch.pair, from);
      add(client, scratch.pair[0] as number, scratch.pair[1] as number);
    }
  }
  return { squared, dots, stepSquared, originDot };
}

/** Reads from disk take a whole block. A column's sum is the same either way. */
function sumElements({ records, blockElements, segments }: BlockContext, order: readonly number[]): number {
  const [first] = segments;
  const inMemory = first && order.every((client) => records.place(client, first) !== undefined);
  return inMemory ? SUM_ELEMENTS : blockElements;
}

/** Combines every float32 tensor. The base, if given, is the last row. */
function combineFloats(
  setting: BlockContext,
  order: readonly number[],
  { result, weights, divisor, base }: { result: Model; weights: readonly number[]; divisor: number; base: Model | undefined },
): void {
  const { kernels, scratch } = setting;
  for (const block of placedBlocks(setting, order, { elements: sumElements(setting, order), tails: "any" })) {
    const { segment, start, size, places, spares } = block;
    if (base) places[order.length] = load(spares[0], base[segment] as Floats, start, size).byteOffset;
    const own = inPlace(result[segment] as Floats, block, scratch.out);
    const out = own ?? new Float32Array(scratch.out.buffer, scratch.out.byteOffset, padded(size));
    kernels.combineRows({ out, sum: scratch.sum }, places, weights, divisor);
    if (!own) put(result, block, out);
  }
}

function put(result: Model, { segment, start, size }: Pick<Block, "segment" | "start" | "size">, out: Floats): void {
  (result[segment] as Floats).set(out.subarray(0, size), start);
}

function combineDoubles(
  { kernels, scratch }: BlockContext,
  { rows }: Block,
  { weights, divisor, count, within }: { weights: readonly number[]; divisor: number; count: number; within: boolean },
): Floats {
  const first = rows[0] as Floats;
  const out = scratch.out.subarray(0, first.length);
  const sum = scratch.sum.subarray(0, first.length).fill(-0);
  for (const [row, weight] of weights.entries()) kernels.addScaled(sum, rows[row] as Floats, weight);
  kernels.divide(out, sum, divisor);
  if (within) keepWithin(out, rows.slice(0, count));
  return out;
}

/** The block's part of a result that lies in the kernels' memory; undefined if the padding would overwrite what follows. */
function inPlace(result: Floats, { start, size }: Pick<Block, "start" | "size">, like: Float64Array): Float32Array | undefined {
  if (!(result instanceof Float32Array) || result.buffer !== like.buffer || size !== padded(size)) return undefined;
  return result.subarray(start, start + size);
}

function load<Row extends Floats>(row: Row, model: Floats, start: number, size: number): Row {
  row.fill(0, size);
  row.set(model.subarray(start, start + size));
  return row;
}

function outOf(memory: Float64Array<ArrayBuffer>, like: Floats, length: number): Floats {
  return like instanceof Float32Array ? new Float32Array(memory.buffer, memory.byteOffset, length) : memory.subarray(0, length);
}

function comparatorsOf({ kernels, scratch }: BlockContext, count: number): Int32Array {
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
 * Keeps a mean between the least and the greatest value: rounding of float64 must not move it out, or equal clients would not give back
 * what they sent. Float32 has spare digits in the accumulator and does not need this.
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
