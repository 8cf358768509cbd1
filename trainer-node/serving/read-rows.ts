import { LABEL_KEYS } from "../../common/training/label-key.ts";
import type { Manifest } from "../../common/training/trained-manifest.ts";
import type { RowsData } from "../compute/datasets/rows.ts";
import { InputProblem } from "../compute/problem.ts";
import { asKind, isRecord, readMatrix } from "../operations/inline-dataset.ts";
import { readTexts } from "../operations/text-dataset.ts";

const HOW = 'send the row as JSON text: a list of numbers, or an object such as {"f0": 0.5, "f1": 2}';

/** Reads the input as rows of the model's task: texts as they are, rows of numbers from JSON text. */
export function readRows(texts: readonly string[], kind: RowsData["kind"], { columns }: Pick<Manifest, "columns">): RowsData {
  if (kind === "texts") return readTexts(texts);
  return asKind(readMatrix({ x: texts.map((text) => numbersOf(text, columns)), y: undefined }, "optional"), kind);
}

function numbersOf(text: string, columns: readonly string[] | undefined): unknown[] {
  const value = parsed(text);
  if (Array.isArray(value)) return value;
  if (!isRecord(value)) throw new InputProblem("VALIDATION_ERROR", `the input is not a row; ${HOW}`);
  // A row of a dataset may be sent with its label, which is ignored.
  const fields = Object.entries(value).filter(([name]) => !LABEL_KEYS.some((key) => key === name) || columns?.includes(name));
  if (!columns) return fields.map(([, number]) => number);
  const extra = fields.find(([name]) => !columns.includes(name))?.[0];
  const missing = columns.find((name) => !Object.hasOwn(value, name));
  if (missing !== undefined || extra !== undefined) {
    const what = missing === undefined ? `has "${extra?.slice(0, 100)}", which the model does not know` : `has no "${missing}"`;
    throw new InputProblem("VALIDATION_ERROR", `the row ${what}; its fields are: ${columns.slice(0, 50).join(", ")}`);
  }
  return columns.map((name) => value[name]);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new InputProblem("VALIDATION_ERROR", `the input is not JSON; ${HOW}`);
  }
}
