import { z } from "zod";
import { type Dataset, selectClasses } from "../compute/datasets/dataset.ts";
import { DIGITS, SPLITS, type Split, splitDigits } from "../compute/datasets/digits.ts";
import { partitionDataset, SCHEMES } from "../compute/datasets/partition.ts";
import { InputProblem } from "../compute/problem.ts";
import { SEED_MAX } from "../compute/random.ts";
import { TrainerError } from "../errors.ts";
import { readMatrix, readRows } from "./inline-dataset.ts";
import { parseWith } from "./schemas.ts";

/** The data a node has without being sent any. */
export interface NodeData {
  readonly digits: () => Dataset;
  readonly fallback: Dataset | undefined;
}

const DATASET_NAMES = ["digits"] as const;
const PARTS_MAX = 100_000;

const partition = z
  .object({
    scheme: z.enum(SCHEMES, `must be one of: ${SCHEMES.join(", ")}`).default("iid"),
    index: z.int().min(0),
    of: z.int().min(1).max(PARTS_MAX),
    seed: z.int().min(0).max(SEED_MAX).default(0),
    alpha: z.number().positive().max(1e6).default(0.5),
  })
  .refine((value) => value.index < value.of, { path: ["index"], message: "must be less than `of`" });

const named = z.strictObject({
  name: z.string(),
  split: z.enum(SPLITS, `must be one of: ${SPLITS.join(", ")}`).optional(),
  classes: z
    .array(
      z
        .int()
        .min(0)
        .max(DIGITS.classes - 1),
    )
    .min(1)
    .optional(),
  partition: partition.optional(),
});

/**
 * The rows a request speaks of, in any of the forms of the contract. `split` is what a named set is cut to when the request does not
 * say: training sees "train" and evaluation "test", so that nobody is marked on what they learnt by accident.
 */
export function readDataset(value: unknown, split: Split, data: NodeData): Dataset {
  const dataset = resolve(value, split, data);
  if (dataset.rows === 0) throw new InputProblem("EMPTY_DATASET", "the dataset has no rows");
  return dataset;
}

function resolve(value: unknown, split: Split, data: NodeData): Dataset {
  if (value === undefined || value === null) {
    if (data.fallback) return data.fallback;
    throw new TrainerError("DATASET_REQUIRED", "Send a dataset: this node has no default one (DATASET_PATH).");
  }
  if (typeof value === "string") return readNamed({ name: value }, split, data);
  if (Array.isArray(value)) return readRows(value);
  if (typeof value !== "object") throw new InputProblem("VALIDATION_ERROR", "dataset must be rows, a matrix {x, y}, a name or null");
  if ("x" in value || "y" in value) return readMatrix({ x: undefined, y: undefined, ...value });
  if ("synthetic" in value || "uri" in value) {
    const form = "synthetic" in value ? "synthetic" : "uri";
    throw new InputProblem("VALIDATION_ERROR", `dataset.${form} is not offered by this node yet`, { form });
  }
  if (Object.keys(value).length === 0) throw new InputProblem("EMPTY_DATASET", "the dataset is an empty object");
  return readNamed(value, split, data);
}

function readNamed(value: object, split: Split, data: NodeData): Dataset {
  const request = parseWith(named, value, "dataset");
  if (request.name !== "digits") {
    const message = `There is no dataset named "${request.name.slice(0, 100)}" here; known: ${DATASET_NAMES.join(", ")}.`;
    throw new TrainerError("DATASET_NOT_FOUND", message, { details: { known: DATASET_NAMES } });
  }
  const rows = splitDigits(data.digits(), request.split ?? split);
  const chosen = request.classes ? selectClasses(rows, new Set(request.classes)) : rows;
  return request.partition ? partitionDataset(chosen, request.partition) : chosen;
}
