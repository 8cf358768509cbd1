import type { Dataset } from "../compute/datasets/dataset.ts";

/** What a function is given beside its arguments. What the caller left out is empty or undefined. */
export interface CallContext {
  /** As it was sent: a function may have settings of its own. */
  readonly config: Readonly<Record<string, unknown>>;
  /** The caller's `config.seed`, or a fresh one; it is in the answer. */
  readonly seed: number;
  /** Aborts when the time is over or the caller has left; the thread is ended half a second later. */
  readonly signal: AbortSignal;
  readonly roundId: string | number | undefined;
  /** The format the caller wants where there is none to take it from. */
  readonly format: string | undefined;
  /** Shown by the call's job, where it is one. */
  progress(value: object): void;
}

export interface DatasetContext extends CallContext {
  /**
   * The dataset as numbers, read as the built-in tasks read it: rows, `{x, y}`, a name with its partition, an allowed address, and the
   * node's own where none was sent. Train sees the training split of a named set, evaluate the test split, unless the request says.
   */
  rows(): Dataset;
}

export interface AggregateContext extends CallContext {
  /** One for each entry of the list; undefined means equal. */
  readonly weights: readonly number[] | undefined;
  readonly clientIds: readonly string[] | undefined;
  readonly strategy: Readonly<Record<string, unknown>> | undefined;
  readonly onInvalid: "refuse" | "drop";
  readonly base: Uint8Array | undefined;
  readonly state: Uint8Array | undefined;
}

export interface TrainResult {
  readonly parameters: Uint8Array;
  readonly numSamples?: number;
  readonly metrics?: Readonly<Record<string, unknown>>;
}

export interface EvaluateResult {
  readonly accuracy: number;
  readonly numSamples?: number;
  readonly metrics?: Readonly<Record<string, unknown>>;
}

export interface AggregateResult {
  readonly parameters: Uint8Array;
  readonly state?: Uint8Array;
  readonly metrics?: Readonly<Record<string, unknown>>;
  readonly clients?: readonly object[];
}

type Awaitable<Value> = Value | Promise<Value>;

/** `parameters` are the bytes that were sent, whatever they are, or undefined to begin afresh; `dataset` is the JSON that was sent. */
export type TrainFunction = (
  parameters: Uint8Array | undefined,
  dataset: unknown,
  context: DatasetContext,
) => Awaitable<Uint8Array | TrainResult>;
export type EvaluateFunction = (
  parameters: Uint8Array | undefined,
  dataset: unknown,
  context: DatasetContext,
) => Awaitable<number | EvaluateResult>;
export type AggregateFunction = (
  parametersList: readonly Uint8Array[],
  context: AggregateContext,
) => Awaitable<Uint8Array | AggregateResult>;
