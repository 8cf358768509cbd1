import type { Dataset } from "./dataset.ts";

/** The splits of a named dataset. */
export const SPLITS = ["train", "test", "all"] as const;
/** A split of a named dataset. */
export type Split = (typeof SPLITS)[number];

/** The size of the digits dataset. */
export const DIGITS = { rows: 1797, columns: 64, classes: 10, trainRows: 1437, testRows: 360, pixelMax: 16 } as const;

/** Reads digits.txt (see digits.source.md): 64 pixels of base 17 and a label a line; pixels are scaled to 0 .. 1. */
export function parseDigits(text: string): Dataset {
  const lines = text.trimEnd().split("\n");
  const features = new Float32Array(lines.length * DIGITS.columns);
  const labels = new Int32Array(lines.length);
  lines.forEach((line, row) => {
    if (!/^[0-9a-g]{64}[0-9]$/.test(line)) throw new Error(`digits.txt is damaged at line ${row + 1}`);
    for (let column = 0; column < DIGITS.columns; column++) {
      features[row * DIGITS.columns + column] = Number.parseInt(line.charAt(column), 17) / DIGITS.pixelMax;
    }
    labels[row] = Number(line.charAt(DIGITS.columns));
  });
  return { rows: lines.length, columns: DIGITS.columns, classes: DIGITS.classes, features, labels };
}

/** A split of the digits. The lines are already shuffled (see digits.source.md): "train" is the first 1,437 and "test" the last 360. */
export function splitDigits(dataset: Dataset, split: Split): Dataset {
  if (split === "all") return dataset;
  const [start, end] = split === "train" ? [0, DIGITS.trainRows] : [DIGITS.trainRows, dataset.rows];
  return {
    ...dataset,
    rows: end - start,
    features: dataset.features.subarray(start * dataset.columns, end * dataset.columns),
    labels: dataset.labels.subarray(start, end),
  };
}
