import { LABEL_KEYS } from "../../common/training/label-key.ts";
import { DATASET_LIMITS } from "../compute/datasets/dataset.ts";
import type { RowsData } from "../compute/datasets/rows.ts";
import { isRecord, refuseRow, refuseSize } from "./inline-dataset.ts";

/**
 * Reads rows of text: `[{"text": "...", "label": 1}]`. Without `text`, all strings of the row are joined by line breaks, which suits rows
 * of `{instruction, context, response}`. A row may also be a string. Either all rows have a label or none has.
 */
export function readTexts(rows: readonly unknown[]): RowsData {
  refuseSize(rows.length, 1);
  const labels = new Int32Array(rows.length);
  let [labeled, largest] = [0, 1];
  const texts = rows.map((row, index) => {
    if (typeof row === "string") return row;
    if (!isRecord(row)) return refuseRow(index, "must be a string or an object with strings");
    const label = LABEL_KEYS.map((key) => row[key]).find((value) => value !== undefined);
    if (label !== undefined) {
      if (typeof label !== "number" || !Number.isInteger(label) || label < 0 || label >= DATASET_LIMITS.classesMax) {
        refuseRow(index, `has a label that is not a whole number from 0 to ${DATASET_LIMITS.classesMax - 1}`);
      }
      labels[index] = label;
      labeled++;
      largest = Math.max(largest, label);
    }
    return textOf(row, index);
  });
  if (labeled !== 0 && labeled !== rows.length)
    refuseRow(
      rows.findIndex((row) => typeof row === "string" || !hasLabel(row)),
      "has no label, but other rows have one",
    );
  return { kind: "texts", rows: rows.length, texts, labels, labeled: labeled > 0, classes: largest + 1 };
}

function textOf(row: Record<string, unknown>, index: number): string {
  const { text } = row;
  if (typeof text === "string") return text;
  const parts = Object.values(row).filter((value): value is string => typeof value === "string");
  return parts.length > 0 ? parts.join("\n") : refuseRow(index, "has no text");
}

function hasLabel(row: unknown): boolean {
  return isRecord(row) && LABEL_KEYS.some((key) => row[key] !== undefined);
}
