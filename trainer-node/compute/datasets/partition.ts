import { createRandom, dirichlet, PURPOSE, type SeededRandom, shuffledIndices } from "../random.ts";
import { type Dataset, selectRows } from "./dataset.ts";

export const SCHEMES = ["iid", "shards", "dirichlet"] as const;

export interface Partition {
  readonly scheme: (typeof SCHEMES)[number];
  /** Which of the `of` parts. */
  readonly index: number;
  readonly of: number;
  readonly seed: number;
  /** Of the Dirichlet scheme: the smaller, the more one-sided. */
  readonly alpha: number;
}

/** What a partition looks at: how many rows, and the class of each. */
export interface Classed {
  readonly rows: number;
  readonly classes: number;
  readonly labels: Int32Array;
}

/** One part of a data set. For one scheme, seed and `of`, the parts are disjoint and together the whole. */
export function partitionDataset(dataset: Dataset, partition: Partition): Dataset {
  return selectRows(dataset, partitionRows(dataset, partition));
}

/** The rows of one part. */
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

/** McMahan 2017: sorted by label, cut into two shards a participant, dealt at random; most see two labels only. */
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

/** Each class is shared out by its own Dirichlet draw; every part makes the same draws and takes its own cut of each. */
function dirichletShare(dataset: Classed, shuffled: Int32Array, { index, of, alpha }: Partition, random: SeededRandom): Int32Array {
  const taken: number[] = [];
  for (let label = 0; label < dataset.classes; label++) {
    const rows = shuffled.filter((row) => dataset.labels[row] === label);
    const shares = dirichlet(alpha, of, random);
    let before = 0;
    for (let part = 0; part < index; part++) before += shares[part] as number;
    // The last part ends at the end, whatever the shares' rounding: every row belongs to someone.
    const after = index === of - 1 ? 1 : before + (shares[index] as number);
    const start = Math.min(rows.length, Math.round(before * rows.length));
    const end = Math.min(rows.length, Math.round(after * rows.length));
    for (const row of rows.subarray(start, end)) taken.push(row);
  }
  return Int32Array.from(taken);
}
