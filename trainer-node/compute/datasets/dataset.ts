import { InputProblem } from "../problem.ts";

/** Labeled rows: `features` is row-major, `labels` are classes 0 .. classes-1. */
export interface Dataset {
  readonly rows: number;
  readonly columns: number;
  readonly classes: number;
  readonly features: Float32Array;
  readonly labels: Int32Array;
}

/** Limits of a dataset in a request. */
export const DATASET_LIMITS = { rowsMax: 5_000_000, columnsMax: 1_000_000, classesMax: 10_000 } as const;

/** The given rows of a dataset, in the given order. */
export function selectRows(dataset: Dataset, order: Int32Array): Dataset {
  const { columns, classes } = dataset;
  const features = new Float32Array(order.length * columns);
  const labels = new Int32Array(order.length);
  order.forEach((row, index) => {
    features.set(dataset.features.subarray(row * columns, (row + 1) * columns), index * columns);
    labels[index] = dataset.labels[row] as number;
  });
  return { rows: order.length, columns, classes, features, labels };
}

/**
 * The rows with a label in `wanted`. The number of classes stays, so that models of participants with different classes can be averaged.
 */
export function selectClasses(dataset: Dataset, wanted: ReadonlySet<number>): Dataset {
  return selectRows(
    dataset,
    Int32Array.from(dataset.labels.keys()).filter((row) => wanted.has(dataset.labels[row] as number)),
  );
}

/** Checks untrusted numbers and counts the classes: labels are whole numbers from 0. */
export function checkedDataset(given: Omit<Dataset, "classes"> & { rawLabels: ArrayLike<number> }): Dataset {
  const { rows, columns, features, labels, rawLabels } = given;
  for (let index = 0; index < features.length; index++) {
    if (!Number.isFinite(features[index])) {
      const row = Math.floor(index / columns);
      throw new InputProblem("NON_FINITE", `row ${row} of the dataset has a value that is not a finite float32`, {
        row,
        column: index % columns,
      });
    }
  }
  let largest = 1;
  for (let row = 0; row < rows; row++) {
    const label = rawLabels[row];
    if (label === undefined || !Number.isInteger(label) || label < 0 || label >= DATASET_LIMITS.classesMax) {
      const message = `row ${row} of the dataset has a label that is not a whole number from 0 to ${DATASET_LIMITS.classesMax - 1}`;
      throw new InputProblem("VALIDATION_ERROR", message, { row });
    }
    labels[row] = label;
    largest = Math.max(largest, label);
  }
  return { rows, columns, classes: largest + 1, features, labels };
}
