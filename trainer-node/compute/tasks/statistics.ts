import type { RowsData } from "../datasets/rows.ts";
import { InputProblem } from "../problem.ts";
import { type Floats, isFloat, type Tensor } from "../tensor.ts";
import type { Learner, Task, TaskOptions } from "./task.ts";

const BINS = 64;
const QUANTILES = { q25: 0.25, q50: 0.5, q75: 0.75 };

/** Sums over the rows, of values scaled to [0, 1] by their bounds: so one row can change them by a known amount only. */
interface Sums {
  readonly count: Floats;
  readonly sum: Floats;
  readonly sum_squares: Floats;
  /** Rows in each bin, column by column. */
  readonly histogram: Floats;
}

/** The statistics that a request asks for. */
interface Asked {
  /** The columns of the rows; the target is the last one. */
  readonly columns: readonly number[];
  readonly bounds: readonly (readonly [number, number])[];
  readonly bins: number;
  /** All sums are divided by it, so that those of so many rows are at most 1. */
  readonly rowsMax: number;
  readonly clients: number;
}

/** Statistics of rows, without a model: participants send sums, and their mean has the mean, variance, histogram and quantiles of all rows. */
export const statisticsTask: Task = {
  name: "statistics",
  about: "count, mean, variance, histogram and quantiles of columns, without training",
  rows: "valued",
  options: {
    bounds: "[low, high], or one pair for each column; values beyond are counted as the bound; required",
    columns: "list of the columns, of which the last is the target; all if absent",
    bins: `1..1000 bins between the bounds, default ${BINS}`,
    rows_max: "sums are divided by it, default 1; with dp the most rows of a participant",
  },
  parameters: { named: ["count [1]", "sum [columns]", "sum_squares [columns]", "histogram [columns, bins]"] },
  accuracy: "share of the values that are within the bounds",
  sums: true,
  open: ({ tensors, data, options }) => {
    const asked = askedOf(data, options);
    return learner(asked, tensors ? sentSums(tensors, asked) : emptySums(asked));
  },
};

function learner(asked: Asked, start: Sums): Learner {
  let sums = start;
  const { columns, bins } = asked;
  const shapes = { count: [1], sum: [columns.length], sum_squares: [columns.length], histogram: [columns.length, bins] };
  return {
    train: (data, _settings, onEpoch) => {
      sums = sumsOf(data, asked);
      onEpoch({ epoch: 1, epochs: 1 });
      return 1;
    },
    score: (data) => ({ accuracy: shareWithin(data, asked), loss: undefined, metrics: figuresOf(sums, asked) }),
    predict: () => {
      throw new InputProblem("VALIDATION_ERROR", "task statistics has no model that could predict", { field: "config.task" });
    },
    tensors: () => Object.entries(shapes).map(([name, shape]): Tensor => ({ name, dtype: "f64", shape, data: sums[name as keyof Sums] })),
  };
}

function askedOf(data: RowsData, { columns, bounds, bins = BINS, rows_max: rowsMax = 1, clients = 1 }: TaskOptions): Asked {
  const width = data.kind === "valued" ? data.columns + 1 : 0;
  const chosen = columns ?? Array.from({ length: width }, (_, column) => column);
  const beyond = chosen.find((column) => column >= width);
  if (beyond !== undefined) throw invalid("columns", `has ${beyond}, and the rows have ${width} columns, the target included`);
  const pairs = !bounds ? [] : isPair(bounds) ? chosen.map(() => bounds) : bounds;
  if (pairs.length !== chosen.length) throw invalid("bounds", `must be [low, high], or ${chosen.length} such pairs`);
  if (pairs.some(([low, high]) => !(low < high))) throw invalid("bounds", "must have the lower bound first");
  return { columns: chosen, bounds: pairs, bins, rowsMax, clients };
}

const isPair = (bounds: NonNullable<TaskOptions["bounds"]>): bounds is readonly [number, number] => typeof bounds[0] === "number";

const invalid = (field: string, what: string): InputProblem =>
  new InputProblem("VALIDATION_ERROR", `config.${field}: ${what}`, { field: `config.${field}` });

function emptySums({ columns, bins }: Asked): Sums {
  const zeros = (length: number): Float64Array => new Float64Array(length);
  return { count: zeros(1), sum: zeros(columns.length), sum_squares: zeros(columns.length), histogram: zeros(columns.length * bins) };
}

function sentSums(tensors: readonly Tensor[], asked: Asked): Sums {
  const entries = Object.entries(emptySums(asked)).map(([name, { length }]) => {
    const tensor = tensors.find((candidate) => candidate.name === name);
    if (tensor && isFloat(tensor) && tensor.data.length === length) return [name, tensor.data];
    throw new InputProblem("SHAPE_MISMATCH", `parameters: tensor "${name}" must have ${length} floats, as columns and bins say`, {
      tensor: name,
    });
  });
  return Object.fromEntries(entries) as Sums;
}

function sumsOf(data: RowsData, asked: Asked): Sums {
  const { columns, bounds, bins, rowsMax } = asked;
  const sums = emptySums(asked);
  const unit = 1 / rowsMax;
  for (const [place, column] of columns.entries()) {
    const [low, high] = bounds[place] as readonly [number, number];
    for (const value of valuesOf(data, column)) {
      const scaled = Math.max(0, Math.min(1, (value - low) / (high - low)));
      add(sums.sum, place, unit * scaled);
      add(sums.sum_squares, place, unit * scaled * scaled);
      add(sums.histogram, place * bins + Math.min(bins - 1, Math.floor(scaled * bins)), unit);
    }
  }
  sums.count[0] = data.kind === "valued" ? unit * data.rows : 0;
  return sums;
}

function add(values: Floats, index: number, value: number): void {
  values[index] = (values[index] as number) + value;
}

function* valuesOf(data: RowsData, column: number): Generator<number> {
  if (data.kind !== "valued") throw new InputProblem("VALIDATION_ERROR", "task statistics takes rows of numbers", { field: "dataset" });
  const { rows, columns, features, targets } = data;
  for (let row = 0; row < rows; row++) yield (column === columns ? targets[row] : features[row * columns + column]) as number;
}

function shareWithin(data: RowsData, { columns, bounds }: Asked): number {
  let [within, all] = [0, 0];
  for (const [place, column] of columns.entries()) {
    const [low, high] = bounds[place] as readonly [number, number];
    for (const value of valuesOf(data, column)) {
      all++;
      if (value >= low && value <= high) within++;
    }
  }
  return all === 0 ? 0 : within / all;
}

/** Ratios of sums, in the units of the columns. Noise can make a count negative; then there is nothing to say. */
function figuresOf(
  { count, sum, sum_squares: squares, histogram }: Sums,
  { columns, bounds, bins, rowsMax, clients }: Asked,
): Record<string, number> {
  const rows = count[0] as number;
  const figures: Record<string, number> = { count: rows * rowsMax * clients };
  if (!(rows > 0)) return figures;
  for (const [place, column] of columns.entries()) {
    const [low, high] = bounds[place] as readonly [number, number];
    const mean = (sum[place] as number) / rows;
    figures[`x${column}/mean`] = low + (high - low) * mean;
    figures[`x${column}/variance`] = (high - low) ** 2 * Math.max(0, (squares[place] as number) / rows - mean * mean);
    const counts = histogram.subarray(place * bins, (place + 1) * bins);
    for (const [name, share] of Object.entries(QUANTILES)) figures[`x${column}/${name}`] = low + (high - low) * quantileOf(counts, share);
  }
  return figures;
}

/** Where this share of the counts is below, from 0 to 1, between the edges of its bin in proportion. Noised counts below 0 are taken as 0. */
function quantileOf(counts: Floats, share: number): number {
  let total = 0;
  for (const count of counts) total += Math.max(0, count);
  let below = 0;
  for (const [bin, given] of counts.entries()) {
    const count = Math.max(0, given);
    if (count > 0 && below + count >= share * total) return (bin + (share * total - below) / count) / counts.length;
    below += count;
  }
  return 1;
}
