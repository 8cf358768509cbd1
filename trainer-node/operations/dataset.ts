import { z } from "zod";
import { type Dataset, selectClasses } from "../compute/datasets/dataset.ts";
import { rememberedDevice } from "../compute/datasets/device-cache.ts";
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

/** The data a node has without being sent any. */
export interface NodeData {
  readonly digits: () => Dataset;
  readonly fallback: Dataset | undefined;
  /** Prefixes of addresses that data may be read from. */
  readonly uris: readonly string[];
  /** PEM of authorities to trust for https addresses, beside the system's. */
  readonly authorities?: string | undefined;
  /** What this call's dataset names on another machine. */
  readonly fetched?: FetchedFile | undefined;
}

/** What the operation and its task want of the rows. */
export interface Wish {
  /** What a named set is cut to when the request does not say. */
  readonly split: Split;
  readonly kind: RowsData["kind"];
  readonly labels: "required" | "optional";
}

const DATASET_NAMES: readonly string[] = ["digits", ...Object.keys(GENERATED)];
const PARTS_MAX = 100_000;
/** The share of generated and synthetic rows that is for training; the rest is held back. */
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
 * The rows a request speaks of, in any of the forms of the contract. Of a named set training sees "train" and evaluation "test" unless
 * told otherwise, so that nobody is marked on what they learnt by accident.
 */
export function readDataset(value: unknown, wish: Wish, data: NodeData): RowsData {
  const rows = resolve(value, wish, data);
  if (rowsOf(rows) === 0) throw new InputProblem("EMPTY_DATASET", "the dataset has no rows");
  return rows;
}

function resolve(value: unknown, wish: Wish, data: NodeData): RowsData {
  if (value === undefined || value === null) {
    if (data.fallback) return asTaskRows({ kind: "labelled", dataset: data.fallback }, wish);
    throw new TrainerError("DATASET_REQUIRED", "Send a dataset: this node has no default one (DATASET_PATH).");
  }
  if (typeof value === "string") return readNamed({ name: value }, wish, data);
  if (typeof value !== "object") throw new InputProblem("VALIDATION_ERROR", "dataset must be rows, a matrix {x, y}, a name or null");
  if (!Array.isArray(value)) {
    if ("uri" in value) return readInline(readUri(value, data.uris, data.fetched), wish);
    if ("synthetic" in value) return readSynthetic(value, wish);
    if (Object.keys(value).length === 0) throw new InputProblem("EMPTY_DATASET", "the dataset is an empty object");
    if ("name" in value) return readNamed(value, wish, data);
  }
  return readInline(value, wish);
}

function readInline(value: unknown, { kind, labels }: Wish): RowsData {
  if (Array.isArray(value)) return kind === "texts" ? readTexts(value) : asKind(readRows(value, labels), kind);
  if (kind !== "texts" && typeof value === "object" && value !== null && ("x" in value || "y" in value)) {
    return asKind(readMatrix({ x: undefined, y: undefined, ...value }, labels), kind);
  }
  throw new InputProblem(
    "VALIDATION_ERROR",
    kind === "texts" ? "dataset must be rows of text for this task" : "dataset must be rows, a matrix {x, y} or a name",
  );
}

function readNamed(value: object, wish: Wish, data: NodeData): RowsData {
  const request = parseWith(named, value, "dataset");
  const cut = request.split ?? wish.split;
  let rows: RowsData;
  if (request.name === "digits") {
    const digits = splitDigits(data.digits(), cut);
    rows = { kind: "labelled", dataset: request.classes ? selectClasses(digits, new Set(request.classes)) : digits };
  } else {
    if (!Object.hasOwn(GENERATED, request.name)) {
      const message = `There is no dataset named "${request.name.slice(0, 100)}" here; known: ${DATASET_NAMES.join(", ")}.`;
      throw new TrainerError("DATASET_NOT_FOUND", message, { details: { known: DATASET_NAMES } });
    }
    rows = splitRows(GENERATED[request.name as GeneratedName].make(), cut, TRAIN_SHARE.generated);
    const { labels } = classedOf(rows);
    if (request.classes)
      rows = pickRows(
        rows,
        Int32Array.from(labels.keys()).filter((row) => request.classes?.includes(labels[row] as number)),
      );
  }
  const chosen = request.partition ? pickRows(rows, partitionRows(classedOf(rows), request.partition)) : rows;
  return asTaskRows(chosen, wish);
}

function readSynthetic(value: object, wish: Wish): RowsData {
  const request = parseWith(synthetic, value, "dataset");
  const dataset = rememberedDevice(request.synthetic);
  return asTaskRows(splitRows({ kind: "labelled", dataset }, request.split ?? wish.split, TRAIN_SHARE.synthetic), wish);
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

/** The rows as the task takes them, where that is possible: a class is a number too. */
function asTaskRows(rows: RowsData, { kind }: Wish): RowsData {
  if (rows.kind === kind) return rows;
  if (rows.kind === "labelled" && kind === "valued") return asValued(rows.dataset);
  throw new InputProblem("VALIDATION_ERROR", `the dataset has ${rows.kind} rows and the task takes ${kind} ones`, {
    dataset: rows.kind,
    task: kind,
  });
}
