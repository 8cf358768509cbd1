import type { Strategy } from "../../../common/strategies/shared/strategy.ts";
import type { Model } from "../clients/model.ts";
import type { Vectors } from "../clients/vectors.ts";
import type { Settings } from "./settings.ts";

/** A strategy with its arithmetic. It is pure: state that it carries from round to round goes out as `state` and comes back in. */
export interface Aggregator extends Strategy {
  /**
   * Every number of the result depends only on the same number of the clients, of the base and of the state. So the model can be aggregated
   * piece by piece, and the verdicts are the same for every piece.
   */
  readonly columnwise?: true;
  /** 1 for each client that the others are measured against, and that takes part whatever it weighs. Of other clients, none has weight 0. */
  readonly references?: (settings: Settings) => readonly number[];
  /** Names of the models in the strategy's state. */
  readonly slots?: readonly string[];
  run(input: AggregatorInput): AggregatorOutput;
}

/** The input of an aggregator. */
export interface AggregatorInput {
  readonly vectors: Vectors;
  /** One weight per client, above 0 except for `references`. */
  readonly weights: readonly number[];
  readonly base: Model | undefined;
  /** Names of the float tensors, in the order of every model's arrays. */
  readonly names: readonly string[];
  /** The state of the previous round; zeros in the first round. */
  readonly state: Readonly<Record<string, Model>>;
  readonly settings: Settings;
}

/** The output of an aggregator. */
export interface AggregatorOutput {
  readonly model: Model;
  readonly state?: Readonly<Record<string, Model>>;
  /** One verdict per client; without them, every client is accepted. */
  readonly verdicts?: readonly Verdict[];
}

/** Whether a client's update was accepted, and the reason if not. */
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
