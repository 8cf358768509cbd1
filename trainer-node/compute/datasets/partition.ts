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

/**
 * Each class is divided by its own Dirichlet draw. Every part makes the same draws and takes its share of each. A part without any row, as
 * small alphas give, gets one of the largest part, because a participant without rows could not train.
 */
function dirichletShare(dataset: Classed, shuffled: Int32Array, { index, of, alpha }: Partition, random: SeededRandom): Int32Array {
  const classes = Array.from({ length: dataset.classes }, (_, label) => {
    const rows = shuffled.filter((row) => dataset.labels[row] === label);
    return { rows, ends: endsOf(dirichlet(alpha, of, random), rows.length) };
  });
  const rowsOf = (part: number): number[] =>
    classes.flatMap(({ rows, ends }) => Array.from(rows.subarray(part === 0 ? 0 : ends[part - 1], ends[part])));
  const sizes = Array.from({ length: of }, (_, part) =>
    classes.reduce((sum, { ends }) => sum + (ends[part] as number) - (part === 0 ? 0 : (ends[part - 1] as number)), 0),
  );
  const donors = donorsOf(sizes, dataset.rows);
  const donor = donors.get(index);
  if (donor !== undefined) return Int32Array.of(rowsOf(donor.part)[donor.row] as number);
  return Int32Array.from(rowsOf(index).slice(0, sizes[index]));
}

/** Where each part ends in the rows of one class. The last one ends at the last row, independent of rounding, so that no row is lost. */
function endsOf(shares: ArrayLike<number>, rows: number): number[] {
  let before = 0;
  return Array.from(shares, (share, part) => {
    before += share;
    return part === shares.length - 1 ? rows : Math.min(rows, Math.round(before * rows));
  });
}

/** For each empty part, the row that it gets: the last one of the part that is the largest by then. Shrinks the sizes of those. */
function donorsOf(sizes: number[], rows: number): Map<number, { part: number; row: number }> {
  const donors = new Map<number, { part: number; row: number }>();
  const empty = sizes.flatMap((size, part) => (size === 0 ? [part] : []));
  // With fewer rows than parts some stay empty.
  for (const part of empty.slice(0, Math.max(0, rows - (sizes.length - empty.length)))) {
    const largest = sizes.indexOf(sizes.reduce((most, size) => Math.max(most, size), 0));
    const row = (sizes[largest] as number) - 1;
    sizes[largest] = row;
    donors.set(part, { part: largest, row });
  }
  return donors;
}
