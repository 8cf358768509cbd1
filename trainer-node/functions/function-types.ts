import type { Dataset } from "../compute/datasets/dataset.ts";

/** What a function receives in addition to its arguments. Fields that the caller omitted are empty or undefined. */
export interface CallContext {
  /** The config as sent; a function may define settings of its own. */
  readonly config: Readonly<Record<string, unknown>>;
  /** The caller's `config.seed`, or a random one. The answer contains it. */
  readonly seed: number;
  /** Aborts when the deadline passes or the caller disconnects. The thread is terminated half a second later. */
  readonly signal: AbortSignal;
  readonly roundId: string | number | undefined;
  /** The id of this participant in the federation. */
  readonly clientId: string | undefined;
  /** The format that the caller requests for parameters that begin without any. */
  readonly format: string | undefined;
  /** Reports progress, which the call's job shows if there is one. */
  progress(value: object): void;
}

/** Context of a train or evaluate function. */
export interface DatasetContext extends CallContext {
  /**
   * The dataset as numbers, read as built-in tasks read it: rows, `{x, y}`, a name with its partition, an allowed address, or the node's
   * default dataset if none was sent. Unless the request says otherwise, train gets the training split of a named dataset and evaluate the
   * test split.
   */
  rows(): Dataset;
}

/** Context of an aggregate function. */
export interface AggregateContext extends CallContext {
  /** One weight per entry of the list; undefined means equal weights. */
  readonly weights: readonly number[] | undefined;
  readonly clientIds: readonly string[] | undefined;
  readonly strategy: Readonly<Record<string, unknown>> | undefined;
  readonly onInvalid: "refuse" | "drop";
  readonly base: Uint8Array | undefined;
  readonly state: Uint8Array | undefined;
}

/** What a train function may return instead of parameters alone. */
export interface TrainResult {
  readonly parameters: Uint8Array;
  readonly numSamples?: number;
  readonly metrics?: Readonly<Record<string, unknown>>;
}

/** What an evaluate function may return instead of an accuracy alone. */
export interface EvaluateResult {
  readonly accuracy: number;
  readonly numSamples?: number;
  readonly metrics?: Readonly<Record<string, unknown>>;
}

/** What an aggregate function may return instead of parameters alone. */
export interface AggregateResult {
  readonly parameters: Uint8Array;
  readonly state?: Uint8Array;
  readonly metrics?: Readonly<Record<string, unknown>>;
  readonly clients?: readonly object[];
}

type Awaitable<Value> = Value | Promise<Value>;

/** A train function. `parameters` are the bytes as sent, or undefined for a new model; `dataset` is the JSON as sent. */
export type TrainFunction = (
  parameters: Uint8Array | undefined,
  dataset: unknown,
  context: DatasetContext,
) => Awaitable<Uint8Array | TrainResult>;
/** An evaluate function, with the same arguments as a train function. */
export type EvaluateFunction = (
  parameters: Uint8Array | undefined,
  dataset: unknown,
  context: DatasetContext,
) => Awaitable<number | EvaluateResult>;
/** An aggregate function. `parametersList` has the bytes of every client as sent. */
export type AggregateFunction = (
  parametersList: readonly Uint8Array[],
  context: AggregateContext,
) => Awaitable<Uint8Array | AggregateResult>;
/**
 * An initial function: returns the parameters of a new model, before anything is trained. It gets no data, because all participants receive
 * what it returns, without noise.
 */
export type InitialFunction = (context: CallContext) => Awaitable<Uint8Array>;
/**
 * A serve function: answers a call of a published model. `parameters` are the published round's, `input` is the caller's text, and `config`
 * of the context has `messages`, `max_tokens` and the other settings of the call. It returns text, or a value that is written as JSON.
 */
export type ServeFunction = (parameters: Uint8Array, input: string, context: CallContext) => Awaitable<unknown>;
