import { z } from "zod";
import { NODE_DATASETS } from "../../common/training/node-datasets.ts";
import { type Dataset, selectClasses } from "../compute/datasets/dataset.ts";
import { cachedDevice } from "../compute/datasets/device-cache.ts";
import { DIGITS, SPLITS, type Split, splitDigits } from "../compute/datasets/digits.ts";
import { GENERATED, type GeneratedName } from "../compute/datasets/generated.ts";
import { partitionRows, SCHEMES } from "../compute/datasets/partition.ts";
import { asValued, classedOf, pickRows, type RowsData, rowsOf } from "../compute/datasets/rows.ts";
import { SYNTHETIC } from "../compute/datasets/synthetic.ts";
import { InputProblem } from "../compute/problem.ts";
import { SEED_MAX } from "../compute/random.ts";
import { TrainerError } from "../errors.ts";
import { asKind, readMatrix, readRows } from "./inline-dataset.ts";
import { parseWith } from "./schemas.ts";
import { readTexts } from "./text-dataset.ts";
import { type FetchedFile, readUri } from "./uri-dataset.ts";

/** Datasets that a node can read without receiving them in the request. */
export interface NodeData {
  readonly digits: () => Dataset;
  readonly fallback: Dataset | undefined;
  /** Prefixes of addresses that datasets may be read from. */
  readonly uris: readonly string[];
  /** PEM of certificate authorities to trust for https addresses, in addition to the system's. */
  readonly authorities?: string | undefined;
  /** The file of this call's dataset, if it came from another machine. */
  readonly fetched?: FetchedFile | undefined;
}

/** The kind of rows that an operation and its task need. */
export interface RowNeeds {
  /** The split of a named dataset if the request does not name one. */
  readonly split: Split;
  readonly kind: RowsData["kind"];
  readonly labels: "required" | "optional";
}

/** Those without a file. */
const MADE: Readonly<Record<Exclude<(typeof NODE_DATASETS)[number], "digits">, { make(): RowsData }>> = GENERATED;
const PARTS_MAX = 100_000;
/** The share of generated and synthetic rows that is for training; the rest is for evaluation. */
const TRAIN_SHARE = { generated: 0.8, synthetic: 0.9 } as const;

const seed = z.int().min(0).max(SEED_MAX).default(0);
const split = z.enum(SPLITS, `must be one of: ${SPLITS.join(", ")}`).optional();

const partition = z
  .object({
    scheme: z.enum(SCHEMES, `must be one of: ${SCHEMES.join(", ")}`).default("iid"),
    index: z.int().min(0),
    of: z.int().min(1).max(PARTS_MAX),
    seed,
    alpha: z.number().positive().max(1e6).default(0.5),
  })
  .refine((value) => value.index < value.of, { path: ["index"], message: "must be less than `of`" });

const named = z.strictObject({
  name: z.string(),
  split,
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

const synthetic = z.strictObject({
  synthetic: z
    .strictObject({
      alpha: z.number().min(0).max(1000).default(1),
      beta: z.number().min(0).max(1000).default(1),
      device: z.int().min(0).default(0),
      of: z.int().min(1).max(PARTS_MAX).default(SYNTHETIC.devices),
      seed,
      iid: z.boolean().default(false),
    })
    .refine((value) => value.device < value.of, { path: ["device"], message: "must be less than `of`" }),
  split,
});

/**
 * Reads the rows of a request in any form of the API. Training gets the "train" split of a named dataset and evaluation the "test" split
 * unless the request says otherwise, so that a model is not evaluated on its training data by accident.
 */
export function readDataset(value: unknown, needs: RowNeeds, data: NodeData): RowsData {
  const rows = resolve(value, needs, data);
  if (rowsOf(rows) === 0) throw new InputProblem("EMPTY_DATASET", "the dataset has no rows");
  return rows;
}

function resolve(value: unknown, needs: RowNeeds, data: NodeData): RowsData {
  if (value === undefined || value === null) {
    if (data.fallback) return asTaskRows({ kind: "labelled", dataset: data.fallback }, needs);
    throw new TrainerError(
      "DATASET_REQUIRED",
      "The request has no dataset and this node has no default one (DATASET_PATH). Send a dataset.",
    );
  }
  if (typeof value === "string") return readNamed({ name: value }, needs, data);
  if (typeof value !== "object") throw new InputProblem("VALIDATION_ERROR", "dataset must be rows, a matrix {x, y}, a name or null");
  if (!Array.isArray(value)) {
    if ("uri" in value) return readInline(readUri(value, data.uris, data.fetched), needs);
    if ("synthetic" in value) return readSynthetic(value, needs);
    if (Object.keys(value).length === 0) throw new InputProblem("EMPTY_DATASET", "dataset is an empty object");
    if ("name" in value) return readNamed(value, needs, data);
  }
  return readInline(value, needs);
}

function readInline(value: unknown, { kind, labels }: RowNeeds): RowsData {
  if (Array.isArray(value)) return kind === "texts" ? readTexts(value) : asKind(readRows(value, labels), kind);
  if (kind !== "texts" && typeof value === "object" && value !== null && ("x" in value || "y" in value)) {
    return asKind(readMatrix({ x: undefined, y: undefined, ...value }, labels), kind);
  }
  throw new InputProblem(
    "VALIDATION_ERROR",
    kind === "texts" ? "dataset must be rows of text for this task" : "dataset must be rows, a matrix {x, y} or a name",
  );
}

function readNamed(value: object, needs: RowNeeds, data: NodeData): RowsData {
  const request = parseWith(named, value, "dataset");
  const cut = request.split ?? needs.split;
  let rows: RowsData;
  if (request.name === "digits") {
    const digits = splitDigits(data.digits(), cut);
    rows = { kind: "labelled", dataset: request.classes ? selectClasses(digits, new Set(request.classes)) : digits };
  } else {
    if (!Object.hasOwn(MADE, request.name)) {
      const message = `This node has no dataset named "${request.name.slice(0, 100)}"; it has ${NODE_DATASETS.join(", ")}.`;
      throw new TrainerError("DATASET_NOT_FOUND", message, { details: { known: NODE_DATASETS } });
    }
    rows = splitRows(MADE[request.name as GeneratedName].make(), cut, TRAIN_SHARE.generated);
    const { labels } = classedOf(rows);
    if (request.classes)
      rows = pickRows(
        rows,
        Int32Array.from(labels.keys()).filter((row) => request.classes?.includes(labels[row] as number)),
      );
  }
  const chosen = request.partition ? pickRows(rows, partitionRows(classedOf(rows), request.partition)) : rows;
  return asTaskRows(chosen, needs);
}

function readSynthetic(value: object, needs: RowNeeds): RowsData {
  const request = parseWith(synthetic, value, "dataset");
  const dataset = cachedDevice(request.synthetic);
  return asTaskRows(splitRows({ kind: "labelled", dataset }, request.split ?? needs.split, TRAIN_SHARE.synthetic), needs);
}

function splitRows(rows: RowsData, cut: Split, trainShare: number): RowsData {
  const count = rowsOf(rows);
  const middle = Math.floor(count * trainShare);
  const [start, end] = { train: [0, middle], test: [middle, count], all: [0, count] }[cut] as [number, number];
  return pickRows(
    rows,
    Int32Array.from({ length: end - start }, (_, index) => start + index),
  );
}

/** Converts rows to the kind that the task takes, if possible: a class is a number, too. */
function asTaskRows(rows: RowsData, { kind }: RowNeeds): RowsData {
  if (rows.kind === kind) return rows;
  if (rows.kind === "labelled" && kind === "valued") return asValued(rows.dataset);
  throw new InputProblem("VALIDATION_ERROR", `the dataset has ${rows.kind} rows and the task takes ${kind} ones`, {
    dataset: rows.kind,
    task: kind,
  });
}
