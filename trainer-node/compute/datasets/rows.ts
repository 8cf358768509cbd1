import { InputProblem } from "../problem.ts";
import { type Dataset, selectRows } from "./dataset.ts";

/** The rows of a request in the form that a task needs. `kind` is part of /v1/info, so its values are API names. */
export type RowsData =
  | { readonly kind: "labelled"; readonly dataset: Dataset }
  | {
      readonly kind: "valued";
      readonly rows: number;
      readonly columns: number;
      readonly features: Float32Array;
      readonly targets: Float32Array;
    }
  | {
      readonly kind: "texts";
      readonly rows: number;
      readonly texts: readonly string[];
      /** All 0 if the rows have no labels. */
      readonly labels: Int32Array;
      readonly labeled: boolean;
      readonly classes: number;
    };

/** The number of rows. */
export function rowsOf(data: RowsData): number {
  return data.kind === "labelled" ? data.dataset.rows : data.rows;
}

/** Labeled rows for a task that predicts numbers: the label is the number. */
export function asValued({ rows, columns, features, labels }: Dataset): RowsData {
  return { kind: "valued", rows, columns, features, targets: Float32Array.from(labels) };
}

/** Labeled rows, or an error for other kinds. */
export function labeledOf(data: RowsData): Dataset {
  if (data.kind !== "labelled") throw new InputProblem("VALIDATION_ERROR", "this task takes rows of numbers with a class as label");
  return data.dataset;
}

/** The given rows, in the given order. */
export function pickRows(data: RowsData, order: Int32Array): RowsData {
  switch (data.kind) {
    case "labelled":
      return { kind: "labelled", dataset: selectRows(data.dataset, order) };
    case "valued": {
      const { columns } = data;
      const features = new Float32Array(order.length * columns);
      order.forEach((row, index) => {
        features.set(data.features.subarray(row * columns, (row + 1) * columns), index * columns);
      });
      return { ...data, rows: order.length, features, targets: Float32Array.from(order, (row) => data.targets[row] as number) };
    }
    case "texts": {
      const texts = Array.from(order, (row) => data.texts[row] as string);
      return { ...data, rows: order.length, texts, labels: order.map((row) => data.labels[row] as number) };
    }
  }
}

/** The class of every row; rows with numbers are all of one. */
export function classedOf(data: RowsData): { rows: number; classes: number; labels: Int32Array } {
  if (data.kind === "labelled") return data.dataset;
  return data.kind === "texts" ? data : { rows: data.rows, classes: 1, labels: new Int32Array(data.rows) };
}
