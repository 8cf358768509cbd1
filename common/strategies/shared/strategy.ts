import type { Capability } from "../../training/capabilities.ts";
import type { Metrics } from "../../training/metrics.ts";
import type { SettingTable } from "./settings.ts";

/**
 * Everything that is known of an aggregation strategy but its arithmetic, which is the file of the same name in
 * trainer-node/compute/aggregators. These two files are all that a new strategy needs: `make generate` lists what is in the folders.
 */
export interface Strategy {
  /** As requests have it. */
  readonly name: string;
  /** One line. */
  readonly description: string;
  readonly settings: SettingTable;
  /** "sum": it needs the mean of the updates alone, so it works under secure aggregation, and central noise is small. */
  readonly sees: "sum" | "each";
  /** "asynchronous": a round is over when `buffer` updates have arrived, whichever round they started from. */
  readonly timing: "rounds" | "asynchronous";
  /** Bounds the influence of participants that send wrong updates. */
  readonly robust: boolean;
  /** Has a step size for each parameter, from moments that it carries from round to round. */
  readonly adaptive: boolean;
  /** Whether it steps from the current global parameters. */
  readonly base: "required" | "optional" | "unused";
  /** Whether updates weigh by their samples. */
  readonly usesWeights: boolean;
  /** What every participant must declare. */
  readonly needs: readonly Capability[];
  /** Whether these settings ask the participants for any of `needs`; absent: they always do. */
  readonly isNeeded?: (given: GivenStrategy, config: TaskConfig) => boolean;
  /** "any": a plain mean, which participants can make of opaque parameters too. */
  readonly formats: "readable" | "any";
  /** Metrics of the training that every update must come with. */
  readonly metrics?: readonly string[];
  /** What is wrong with the metrics of an update, which are all there. Such an update is refused, because it would fail the round. */
  readonly metricProblem?: (given: GivenStrategy, metrics: Metrics) => string | undefined;
  /** Why it does not work with the noise of `dp`; absent where it does. */
  readonly withoutNoise?: string;
  /** Participants get the sum of their own changes of control variates beside the parameters. */
  readonly carriesControls?: true;
  /** The fewest clients that it combines, by its settings. */
  readonly leastClients?: (setting: (name: string) => unknown) => readonly LeastClients[];
  /** The index of the participant whose update the others are measured against. No round is without it. */
  readonly rootOf?: (given: GivenStrategy) => number;
  /** The strategy that combines a round's updates where this one has no arithmetic of its own. */
  readonly aggregatedBy?: string;
  /** What it does not work with in the `config` of a new federation's task, by setting. Federations of earlier versions may have it. */
  readonly taskProblems?: (given: GivenStrategy, config: TaskConfig) => readonly StrategyProblem[];
  /** The settings of a new federation, with those that depend on the task's `config`. */
  readonly filled?: (given: GivenStrategy, config: TaskConfig) => GivenStrategy;
  /** What it adds to the `config` of the participants' training. */
  readonly prepare?: (given: GivenStrategy) => Readonly<Record<string, unknown>>;
  /** The settings of `only: "aggregate"` for one round. */
  readonly fill?: (round: StrategyRound) => Readonly<Record<string, unknown>>;
  /** How much of an update that started so many rounds ago is added to the current parameters when it arrives. */
  readonly rebase?: (given: GivenStrategy, staleness: number) => number;
}

/** The fewest clients that a strategy combines, and the setting that asks for so many. */
export interface LeastClients {
  readonly setting: string;
  readonly least: number;
}

/** The `config` of a federation's task. */
export type TaskConfig = Readonly<Record<string, unknown>>;

/** What is wrong with a setting of a federation. */
export interface StrategyProblem {
  readonly path: string[];
  readonly message: string;
}

/** A strategy as a federation's settings have it, checked. */
export type GivenStrategy = Readonly<Record<string, unknown>> & { readonly name: string };

export interface StrategyRound {
  /** From 1. */
  readonly round: number;
  readonly config: TaskConfig;
  readonly given: GivenStrategy;
  /** Number of participants of the federation. */
  readonly participants: number;
  /** The id of the root participant, for a strategy that has one. */
  readonly root: string | undefined;
  readonly updates: readonly RoundUpdate[];
}

/** An accepted update, as a strategy sees it before the aggregation. */
export interface RoundUpdate {
  /** The id of its participant. */
  readonly id: string;
  readonly weight: number;
  /** Its declared samples, also where noise has all weigh the same; 1 of each where one of them declares none. */
  readonly samples: number;
  readonly baseRound: number;
  readonly metrics: Metrics;
}

const USUAL = { timing: "rounds", robust: false, adaptive: false, needs: [], formats: "readable" } as const;

/** A declaration says what differs from the usual strategy: in rounds, not robust, not adaptive, over parameters that can be read. */
export function declareStrategy(own: Omit<Strategy, keyof typeof USUAL> & Partial<Strategy>): Strategy {
  return { ...USUAL, ...own };
}
