import { z } from "zod";
import { LABEL_KEYS, labelKeyIn } from "../../common/training/label-key.ts";
import { decodeBase64 } from "../codec/base64.ts";
import { checkedDataset, DATASET_LIMITS } from "../compute/datasets/dataset.ts";
import type { RowsData } from "../compute/datasets/rows.ts";
import { InputProblem } from "../compute/problem.ts";
import { DTYPES, type Tensor, tensorFromBytes } from "../compute/tensor.ts";
import { parseWith } from "./schemas.ts";

const tensorField = z.object(
  {
    dtype: z.enum(DTYPES, `must be one of: ${DTYPES.join(", ")}`),
    shape: z.array(z.int().min(0)).max(2),
    data: z.string("must be a base64 string"),
  },
  "must be a list of numbers, or a tensor {dtype, shape, data} with its data in base64",
);

/** Rows as sent, before a task interprets their values. */
export interface RawRows {
  readonly rows: number;
  readonly columns: number;
  readonly features: Float32Array;
  readonly values: Float64Array;
}

/**
 * Reads rows `[{"f0": 0.1, ..., "label": 3}]`. The label is `label`, `y` or `target`, else the last key. The other keys are columns in the
 * order of row 0. If labels are optional, only those three names are a label.
 */
export function readRows(rows: readonly unknown[], labels: "required" | "optional"): RawRows {
  refuseSize(rows.length, 1);
  const [first] = rows;
  const keys = isRecord(first) ? Object.keys(first) : [];
  const labelKey = labels === "required" ? labelKeyIn(keys) : LABEL_KEYS.find((key) => keys.includes(key));
  const columns = keys.filter((key) => key !== labelKey);
  if ((labelKey === undefined && labels === "required") || columns.length === 0)
    refuseRow(0, "must be an object of numbers: at least one column and a label");
  refuseSize(rows.length, columns.length);
  const features = new Float32Array(rows.length * columns.length);
  const values = new Float64Array(rows.length);
  rows.forEach((row, index) => {
    if (!isRecord(row) || Object.keys(row).length !== keys.length) refuseRow(index, "has other keys than row 0");
    columns.forEach((key, column) => {
      features[index * columns.length + column] = numberOf(row, key, index);
    });
    if (labelKey !== undefined) values[index] = numberOf(row, labelKey, index);
  });
  return { rows: rows.length, columns: columns.length, features, values };
}

/** Reads a matrix `{x: [[...]], y: [...]}`, or either as a base64 tensor `{dtype, shape, data}`. */
export function readMatrix({ x, y }: { x: unknown; y: unknown }, labels: "required" | "optional"): RawRows {
  const { rows, columns, features } = Array.isArray(x) ? readNestedArrays(x) : readFeatureTensor(x);
  if (y === undefined && labels === "optional") return { rows, columns, features, values: new Float64Array(rows) };
  const values = Array.isArray(y) ? readLabelArray(y) : readLabelTensor(y);
  if (values.length !== rows) {
    throw new InputProblem("SHAPE_MISMATCH", `dataset.x has ${rows} rows and dataset.y has ${values.length} labels`, {
      rows,
      labels: values.length,
    });
  }
  return { rows, columns, features, values };
}

/** Converts rows to the form of a task: with a class, or with a number. */
export function asKind({ rows, columns, features, values }: RawRows, kind: "labelled" | "valued"): RowsData {
  const dataset = { rows, columns, features, labels: new Int32Array(rows) };
  if (kind === "labelled") return { kind, dataset: checkedDataset({ ...dataset, rawLabels: values }) };
  checkedDataset({ ...dataset, rawLabels: new Float64Array(rows) });
  const targets = Float32Array.from(values);
  const row = targets.findIndex((value) => !Number.isFinite(value));
  if (row >= 0) throw new InputProblem("NON_FINITE", `row ${row} of the dataset has a target that is not a finite float32`, { row });
  return { kind, rows, columns, features, targets };
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
      if (typeof value !== "number") refuseRow(index, `has a value that is not a number at column ${column}`);
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
  const { data } = tensor;
  return data instanceof BigInt64Array || data instanceof BigUint64Array ? Float64Array.from(data, Number) : data;
}

function numberOf(row: Record<string, unknown>, key: string, index: number): number {
  if (!Object.hasOwn(row, key)) refuseRow(index, "has other keys than row 0");
  const value = row[key];
  return typeof value === "number" ? value : refuseRow(index, `has a value that is not a number at "${key}"`);
}

/** Whether a value is a plain JSON object. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Refuses datasets beyond the limits, and empty ones. */
export function refuseSize(rows: number, columns: number): void {
  if (rows === 0) throw new InputProblem("EMPTY_DATASET", "the dataset has no rows");
  if (columns === 0) throw new InputProblem("VALIDATION_ERROR", "the dataset has no columns");
  if (rows > DATASET_LIMITS.rowsMax || columns > DATASET_LIMITS.columnsMax) {
    const message = `the dataset has ${rows} rows of ${columns} columns; at most ${DATASET_LIMITS.rowsMax} of ${DATASET_LIMITS.columnsMax}`;
    throw new InputProblem("VALIDATION_ERROR", message, { rows, columns });
  }
}

/** Throws an error about one row. */
export function refuseRow(row: number, what: string): never {
  throw new InputProblem("VALIDATION_ERROR", `row ${row} of the dataset ${what}`, { row });
}
