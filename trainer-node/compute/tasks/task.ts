import type { RowsData } from "../datasets/rows.ts";
import type { Floats, Tensor } from "../tensor.ts";

/** A kind of model that this node can create, train, evaluate and predict with. */
export interface Task {
  readonly name: string;
  readonly about: string;
  /** The kind of its rows: features with a class, features with a number, or texts. */
  readonly rows: RowsData["kind"];
  /** Options of a new model and the tensors of the task, for /v1/info. */
  readonly options: Readonly<Record<string, string>>;
  readonly parameters: Readonly<Record<string, unknown>>;
  /** The meaning of `accuracy` for this task. */
  readonly accuracy: string;
  /** Its tensors are sums over the rows, so that every participant weighs the same, however many rows it has. */
  readonly sums?: true;
  /** The columns of the rows that a model with these tensors takes; absent: its tensors suit rows of any width. */
  columnsOf?(shapeOf: (tensor: string) => readonly number[]): number;
  /** Opens a model from the tensors of the request, or a new one for the data. */
  open(start: TaskStart): Learner;
}

/** What a model starts from. */
export interface TaskStart {
  readonly tensors: readonly Tensor[] | undefined;
  readonly data: RowsData;
  readonly options: TaskOptions;
  /** Whether the format holds one array only. */
  readonly single: boolean;
  readonly seed: number;
}

/** Sizes of a new model; a model in the request has its own. */
export interface TaskOptions {
  readonly classes?: number | undefined;
  readonly hidden?: readonly number[] | undefined;
  readonly filters?: number | undefined;
  readonly buckets?: number | undefined;
  readonly dimensions?: number | undefined;
  readonly context?: number | undefined;
  readonly bounds?: readonly [number, number] | readonly (readonly [number, number])[] | undefined;
  readonly columns?: readonly number[] | undefined;
  readonly bins?: number | undefined;
  readonly rows_max?: number | undefined;
  readonly clients?: number | undefined;
}

/** The settings of a training. */
export interface TrainSettings {
  readonly epochs: number;
  readonly batchSize: number;
  readonly learningRate: number;
  readonly seed: number;
  readonly optimizer: "sgd" | "momentum" | "adam";
  readonly momentum: number;
  /** FedProx: weight of the pull toward the parameters at the start. */
  readonly mu: number;
  /** SCAFFOLD: added to every gradient, by tensor. */
  readonly correction?: ReadonlyMap<string, Floats> | undefined;
}

/** The progress of a training. */
export interface Progress {
  readonly epoch: number;
  readonly epochs: number;
}

/** The result of an evaluation. */
export interface Score {
  readonly accuracy: number;
  /** Undefined for a task without training. */
  readonly loss: number | undefined;
  /** Further numbers of a task. */
  readonly metrics?: Readonly<Record<string, number>>;
}

/** An open model. */
export interface Learner {
  /** Trains and returns the number of steps. */
  train(data: RowsData, settings: TrainSettings, onEpoch: (progress: Progress) => void): number;
  score(data: RowsData): Score;
  /** Predicts every row. */
  predict(data: RowsData): readonly Prediction[];
  tensors(): Tensor[];
  /** For language models: predicts the next byte repeatedly. */
  writer?(): ByteWriter;
}

/** Predicts the next byte of a text. */
export interface ByteWriter {
  /** Number of bytes of context. */
  readonly context: number;
  /** Scores of every byte, and of the end of the text at index 256, after these bytes. The array is reused. */
  next(bytes: readonly number[]): Float32Array;
}

/** The prediction for one row. */
export type Prediction =
  | { readonly label: number; readonly scores: readonly number[] }
  | { readonly value: number }
  | { readonly vector: readonly number[] }
  | { readonly text: string };
