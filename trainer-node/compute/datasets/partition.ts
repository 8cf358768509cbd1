import { createRandom, dirichlet, PURPOSE, type SeededRandom, shuffledIndices } from "../random.ts";

/** The ways to partition a dataset. */
export const SCHEMES = ["iid", "shards", "dirichlet"] as const;

/** One part of a partitioned dataset. */
export interface Partition {
  readonly scheme: (typeof SCHEMES)[number];
  /** The index of the part, from 0 to `of` - 1. */
  readonly index: number;
  readonly of: number;
  readonly seed: number;
  /** Concentration of the Dirichlet scheme: smaller values give more uneven parts. */
  readonly alpha: number;
}

/** What a partition depends on: the number of rows, and the class of each. */
export interface Classed {
  readonly rows: number;
  readonly classes: number;
  readonly labels: Int32Array;
}

/** The rows of one part. For one scheme, seed and `of`, the parts are disjoint and cover the dataset. */
export function partitionRows(dataset: Classed, partition: Partition): Int32Array {
  const random = createRandom(partition.seed, PURPOSE.partition);
  const shuffled = shuffledIndices(dataset.rows, random);
  switch (partition.scheme) {
    case "iid":
      return slice(shuffled, partition.index, partition.of);
    case "shards":
      return twoShards(dataset, shuffled, partition, random);
    case "dirichlet":
      return dirichletShare(dataset, shuffled, partition, random);
  }
}

function slice(order: Int32Array, index: number, of: number): Int32Array {
  return order.subarray(Math.floor((index * order.length) / of), Math.floor(((index + 1) * order.length) / of));
}

/**
 * McMahan 2017: rows are sorted by label and cut into two shards per participant, dealt at random; most participants see two labels only.
 */
function twoShards(dataset: Classed, shuffled: Int32Array, { index, of }: Partition, random: SeededRandom): Int32Array {
  const byLabel = shuffled.toSorted((left, right) => (dataset.labels[left] as number) - (dataset.labels[right] as number));
  const deal = shuffledIndices(2 * of, random);
  const first = slice(byLabel, deal[2 * index] as number, 2 * of);
  const second = slice(byLabel, deal[2 * index + 1] as number, 2 * of);
  const both = new Int32Array(first.length + second.length);
  both.set(first);
  both.set(second, first.length);
  return both;
}

/** Each class is divided by its own Dirichlet draw. Every part makes the same draws and takes its share of each. */
function dirichletShare(dataset: Classed, shuffled: Int32Array, { index, of, alpha }: Partition, random: SeededRandom): Int32Array {
  const taken: number[] = [];
  for (let label = 0; label < dataset.classes; label++) {
    const rows = shuffled.filter((row) => dataset.labels[row] === label);
    const shares = dirichlet(alpha, of, random);
    let before = 0;
    for (let part = 0; part < index; part++) before += shares[part] as number;
    // The last part ends at the last row, independent of rounding, so that every row belongs to a part.
    const after = index === of - 1 ? 1 : before + (shares[index] as number);
    const start = Math.min(rows.length, Math.round(before * rows.length));
    const end = Math.min(rows.length, Math.round(after * rows.length));
    for (const row of rows.subarray(start, end)) taken.push(row);
  }
  return Int32Array.from(taken);
}
