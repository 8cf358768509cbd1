import type { Model } from "../clients/model.ts";
import type { Vectors } from "../clients/vectors.ts";
import type { Settings, SettingTable } from "./settings.ts";

/** One rule that makes one model of many. Pure: what it remembers from round to round goes out as `state` and comes back in. */
export interface Aggregator {
  readonly name: string;
  readonly about: string;
  readonly settings: SettingTable;
  /** Whether it steps from the current global model. */
  readonly base: "required" | "optional" | "unused";
  readonly usesWeights: boolean;
  /**
   * Every number of the result depends on the same number of the clients, of the base and of the state alone: so it can be made a
   * piece of the model at a time, and its verdicts are the same for every piece.
   */
  readonly columnwise?: true;
  /** Models it keeps between rounds, by name. */
  readonly slots: readonly string[];
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

/** What every aggregator that is a plain mean of its clients has in common. */
export const NO_STATE = { slots: [] } as const;

/** The base of a rule that requires one; whoever runs the rule has checked. */
export function requiredBase({ base }: AggregatorInput): Model {
  if (!base) throw new Error("an aggregator that requires a base was run without one");
  return base;
}
