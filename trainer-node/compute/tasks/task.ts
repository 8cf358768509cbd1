import type { RowsData } from "../datasets/rows.ts";
import type { Floats, Tensor } from "../tensor.ts";

/** One kind of model this node can make, train, judge and ask. */
export interface Task {
  readonly name: string;
  readonly about: string;
  /** What its rows are: features with a class, features with a number, or texts. */
  readonly rows: RowsData["kind"];
  /** Sizes it may be given for a fresh model, and its tensors, for /v1/info. */
  readonly options: Readonly<Record<string, string>>;
  readonly parameters: Readonly<Record<string, unknown>>;
  /** What `accuracy` means here. */
  readonly accuracy: string;
  /** A model of the tensors sent, or a fresh one of the data's size. */
  open(start: TaskStart): Learner;
}

export interface TaskStart {
  readonly tensors: readonly Tensor[] | undefined;
  readonly data: RowsData;
  readonly options: TaskOptions;
  /** The format has room for one array only. */
  readonly single: boolean;
  readonly seed: number;
}

/** Sizes of a fresh model; a model that was sent has its own. */
export interface TaskOptions {
  readonly classes?: number | undefined;
  readonly hidden?: readonly number[] | undefined;
  readonly filters?: number | undefined;
  readonly buckets?: number | undefined;
  readonly dimensions?: number | undefined;
  readonly context?: number | undefined;
}

export interface TrainSettings {
  readonly epochs: number;
  readonly batchSize: number;
  readonly learningRate: number;
  readonly seed: number;
  readonly optimizer: "sgd" | "momentum" | "adam";
  readonly momentum: number;
  /** FedProx: pull towards the parameters the training started from. */
  readonly mu: number;
  /** SCAFFOLD: added to every gradient, by tensor. */
  readonly correction?: ReadonlyMap<string, Floats> | undefined;
}

export interface Progress {
  readonly epoch: number;
  readonly epochs: number;
}

export interface Score {
  readonly accuracy: number;
  readonly loss: number;
}

export interface Learner {
  /** Gives the number of steps it took. */
  train(data: RowsData, settings: TrainSettings, onEpoch: (progress: Progress) => void): number;
  score(data: RowsData): Score;
  /** One entry for each row. */
  predict(data: RowsData): readonly Prediction[];
  tensors(): Tensor[];
  /** Of a language model: what says the next byte, again and again. */
  writer?(): ByteWriter;
}

export interface ByteWriter {
  /** How many bytes it looks back. */
  readonly context: number;
  /** Scores of every byte, and of the end at 256, after these; the array is used again for the next. */
  next(bytes: readonly number[]): Float32Array;
}

export type Prediction =
  | { readonly label: number; readonly scores: readonly number[] }
  | { readonly value: number }
  | { readonly vector: readonly number[] }
  | { readonly text: string };
