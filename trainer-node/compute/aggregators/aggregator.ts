import type { Strategy } from "../../../common/strategies/shared/strategy.ts";
import type { Model } from "../clients/model.ts";
import type { Vectors } from "../clients/vectors.ts";
import type { Settings } from "./settings.ts";

/** A strategy with its arithmetic. Pure: what it carries from round to round goes out as `state` and comes back in. */
export interface Aggregator extends Strategy {
  /**
   * Every number of the result depends on the same number of the clients, of the base and of the state alone: so it can be made a
   * piece of the model at a time, and its verdicts are the same for every piece.
   */
  readonly columnwise?: true;
  /** Models it carries from round to round, by name. */
  readonly slots?: readonly string[];
  run(input: AggregatorInput): AggregatorOutput;
}

export interface AggregatorInput {
  readonly vectors: Vectors;
  /** One for each client, at least one of them above 0. */
  readonly weights: readonly number[];
  readonly base: Model | undefined;
  /** Names of the float tensors, in the order of every model's arrays. */
  readonly names: readonly string[];
  /** Zeros in the first round. */
  readonly state: Readonly<Record<string, Model>>;
  readonly settings: Settings;
}

export interface AggregatorOutput {
  readonly model: Model;
  readonly state?: Readonly<Record<string, Model>>;
  /** One for each client; without them every client of weight above 0 is accepted. */
  readonly verdicts?: readonly Verdict[];
}

export interface Verdict {
  readonly accepted: boolean;
  readonly reason?: string;
  readonly score?: number;
}

/** The base of a strategy that requires one; the caller of `run` has checked. */
export function requiredBase({ base }: AggregatorInput): Model {
  if (!base) throw new Error("an aggregator that requires a base was run without one");
  return base;
}
