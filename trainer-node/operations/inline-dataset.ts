import { z } from "zod";
import { decodeBase64 } from "../codec/base64.ts";
import { checkedDataset, DATASET_LIMITS, type Dataset } from "../compute/datasets/dataset.ts";
import { InputProblem } from "../compute/problem.ts";
import { DTYPES, type Tensor, tensorFromBytes } from "../compute/tensor.ts";
import { parseWith } from "./schemas.ts";

const LABEL_KEYS = ["label", "y", "target"] as const;

const tensorField = z.object({
  dtype: z.enum(DTYPES, `must be one of: ${DTYPES.join(", ")}`),
  shape: z.array(z.int().min(0)).max(2),
  data: z.string("must be base64 text"),
});

/** Rows `[{"f0": 0.1, ..., "label": 3}]`. The label is `label`, `y` or `target`, else the last key; the others are columns in the order of row 0. */
export function readRows(rows: readonly unknown[]): Dataset {
  refuseSize(rows.length, 1);
  const [first] = rows;
  const keys = isRecord(first) ? Object.keys(first) : [];
  const labelKey = LABEL_KEYS.find((key) => keys.includes(key)) ?? keys.at(-1);
  if (labelKey === undefined || keys.length < 2) refuseRow(0, "must be an object of numbers: at least one column and a label");
  const columns = keys.filter((key) => key !== labelKey);
  refuseSize(rows.length, columns.length);
  const features = new Float32Array(rows.length * columns.length);
  const rawLabels = new Float64Array(rows.length);
  rows.forEach((row, index) => {
    if (!isRecord(row) || Object.keys(row).length !== keys.length) refuseRow(index, "has other keys than row 0");
    columns.forEach((key, column) => {
      features[index * columns.length + column] = numberOf(row, key, index);
    });
    rawLabels[index] = numberOf(row, labelKey, index);
  });
  return checkedDataset({ rows: rows.length, columns: columns.length, features, labels: new Int32Array(rows.length), rawLabels });
}

/** A matrix `{x: [[...]], y: [...]}`, or either as a base64 tensor `{dtype, shape, data}`. */
export function readMatrix({ x, y }: { x: unknown; y: unknown }): Dataset {
  const { rows, columns, features } = Array.isArray(x) ? readNestedArrays(x) : readFeatureTensor(x);
  const rawLabels = Array.isArray(y) ? readLabelArray(y) : readLabelTensor(y);
  if (rawLabels.length !== rows) {
    throw new InputProblem("SHAPE_MISMATCH", `dataset.x has ${rows} rows and dataset.y has ${rawLabels.length} labels`, {
      rows,
      labels: rawLabels.length,
    });
  }
  return checkedDataset({ rows, columns, features, labels: new Int32Array(rows), rawLabels });
}

interface Matrix {
  rows: number;
  columns: number;
  features: Float32Array;
}

function readNestedArrays(x: readonly unknown[]): Matrix {
  const [first] = x;
  const columns = Array.isArray(first) ? first.length : 1;
  refuseSize(x.length, columns);
  const features = new Float32Array(x.length * columns);
  x.forEach((row, index) => {
    if (!Array.isArray(row) || row.length !== columns) refuseRow(index, `is not a list of ${columns} numbers`);
    row.forEach((value: unknown, column) => {
      if (typeof value !== "number") refuseRow(index, `has something that is not a number at column ${column}`);
      features[index * columns + column] = value;
    });
  });
  return { rows: x.length, columns, features };
}

function readLabelArray(y: readonly unknown[]): Float64Array {
  return Float64Array.from(y, (value, index) => (typeof value === "number" ? value : refuseRow(index, "has a label that is not a number")));
}

function readFeatureTensor(value: unknown): Matrix {
  const tensor = readTensor(value, "dataset.x");
  const [rows = 0, columns = 0] = tensor.shape;
  if (tensor.shape.length !== 2)
    throw new InputProblem("SHAPE_MISMATCH", "dataset.x must have two dimensions, rows and columns", { tensor: "x" });
  refuseSize(rows, columns);
  return { rows, columns, features: Float32Array.from(numbersOf(tensor)) };
}

function readLabelTensor(value: unknown): Float64Array {
  const tensor = readTensor(value, "dataset.y");
  if (tensor.shape.length !== 1) throw new InputProblem("SHAPE_MISMATCH", "dataset.y must have one dimension", { tensor: "y" });
  return Float64Array.from(numbersOf(tensor));
}

function readTensor(value: unknown, where: string): Tensor {
  const { dtype, shape, data } = parseWith(tensorField, value, where);
  return tensorFromBytes({ name: where, dtype, shape }, decodeBase64(data, `${where}.data`));
}

function numbersOf(tensor: Tensor): ArrayLike<number> {
  return tensor.data instanceof BigInt64Array ? Float64Array.from(tensor.data, Number) : tensor.data;
}

function numberOf(row: Record<string, unknown>, key: string, index: number): number {
  if (!Object.hasOwn(row, key)) refuseRow(index, "has other keys than row 0");
  const value = row[key];
  return typeof value === "number" ? value : refuseRow(index, `has something that is not a number at "${key}"`);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function refuseSize(rows: number, columns: number): void {
  if (rows === 0) throw new InputProblem("EMPTY_DATASET", "the dataset has no rows");
  if (columns === 0) throw new InputProblem("VALIDATION_ERROR", "the dataset has no columns");
  if (rows > DATASET_LIMITS.rowsMax || columns > DATASET_LIMITS.columnsMax) {
    const message = `the dataset has ${rows} rows of ${columns} columns; at most ${DATASET_LIMITS.rowsMax} of ${DATASET_LIMITS.columnsMax}`;
    throw new InputProblem("VALIDATION_ERROR", message, { rows, columns });
  }
}

function refuseRow(row: number, what: string): never {
  throw new InputProblem("VALIDATION_ERROR", `row ${row} of the dataset ${what}`, { row });
}
