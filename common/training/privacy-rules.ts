import { findStrategy, SUM_STRATEGIES } from "../strategies/shared/registry.ts";
import type { Capability } from "./capabilities.ts";
import type { FederationSettings } from "./federation-settings.ts";
import type { RoundRecord } from "./round-record.ts";
import { secureProblems } from "./secure-settings.ts";

/** What a privacy mode asks of participants, settings and accounts. How its rounds run is in trainer-node/coordinator/privacy. */
export interface PrivacyRules {
  /** What every participant must be able to do, with the setting that needs it. */
  readonly needs: Readonly<Partial<Record<Capability, string>>>;
  /** Added to the `config` of the participants' training. */
  readonly config: Readonly<Record<string, number>>;
  /** "equal": one participant's part of the mean is bounded only if all weigh the same. */
  readonly weights: "samples" | "equal";
  /** The setting that has the coordinator compute with floats; absent where it needs none. */
  readonly computes?: string;
  /** Whether floats of 16 bits are refused: a result is rounded to them before its noise, which moves it further than the noise is made for. */
  readonly wideFloats: boolean;
  /** What in a federation's settings it does not work with, by path. */
  problems(asked: Asked): Problem[];
  /** Whether the noise is in a result that was made so. */
  isNoised(made: RoundRecord["made"]): boolean;
  /** What has spent its epsilon once it is seen, even if the round is not committed: noised updates, or the result that is evaluated. */
  readonly spentBy: "updates" | "result" | undefined;
  /** Whether the updates are for coordinators alone, because the noise comes off a result beside them. */
  readonly hidesUpdates: boolean;
}

interface Problem {
  readonly path: string[];
  readonly message: string;
}

type Asked = Pick<FederationSettings, "strategy"> & {
  readonly participants?: readonly { readonly join?: boolean | undefined }[];
};

type Noise = Pick<NonNullable<FederationSettings["dp"]>, "clipNorm" | "noiseMultiplier">;

const none: PrivacyRules = {
  needs: {},
  config: {},
  weights: "samples",
  wideFloats: false,
  problems: () => [],
  isNoised: () => false,
  spentBy: undefined,
  hidesUpdates: false,
};

/** Participants clip and noise their own updates. */
const local = ({ clipNorm, noiseMultiplier }: Noise): PrivacyRules => ({
  ...none,
  problems: ({ strategy: { name } }) => noiseProblems(name),
  needs: { clip: "dp.mode local", noise: "dp.mode local" },
  config: { clip_norm: clipNorm, noise_multiplier: noiseMultiplier },
  computes: "dp.mode local",
  isNoised: (made) => made !== "delegated",
  spentBy: "updates",
});

/**
 * The coordinator adds noise to the mean of clipped updates, or to the step of a strategy that sees each of them. It clips them itself,
 * unless it sees their sum alone; then the participants do.
 */
const central = ({ clipNorm }: Noise, isSumOnly: boolean): PrivacyRules => ({
  ...none,
  ...(isSumOnly ? { needs: { clip: "dp.mode central" }, config: { clip_norm: clipNorm } } : {}),
  weights: "equal",
  computes: "dp.mode central",
  wideFloats: true,
  spentBy: "result",
  hidesUpdates: true,
  // The bound of one update's influence, which the noise is made for, is not known of an own strategy.
  problems: ({ strategy: { name } }) => (findStrategy(name) ? noiseProblems(name) : [ownProblem(name)]),
  isNoised: (made) => made === "noised",
});

/** The coordinator sees the sum of the updates and no single one, with noise or without. */
const secure = (noise: PrivacyRules): PrivacyRules => ({
  ...noise,
  needs: { mask: "secureAggregation", ...noise.needs },
  problems: (asked) => [...sumProblems(asked.strategy.name, "secureAggregation, which shows only their sum"), ...secureProblems(asked)],
});

const NOISE = { local, central };

export function privacyRules({ dp, secureAggregation }: Partial<Pick<FederationSettings, "dp" | "secureAggregation">>): PrivacyRules {
  const noise = dp ? NOISE[dp.mode](dp, secureAggregation !== undefined) : none;
  return secureAggregation ? secure(noise) : noise;
}

const ownProblem = (name: string): Problem => ({
  path: ["strategy", "name"],
  message: `${name} is an own strategy, and dp.mode central needs a built-in one, whose noise it can account for; dp.mode local works with both`,
});

function noiseProblems(name: string): Problem[] {
  const reason = findStrategy(name)?.withoutNoise;
  return reason === undefined ? [] : [{ path: ["strategy", "name"], message: `${name} does not work with dp: ${reason}` }];
}

function sumProblems(name: string, privacy: string): Problem[] {
  if (SUM_STRATEGIES.includes(name)) return [];
  const message = `${name} needs every single update and does not work with ${privacy}; use one of: ${SUM_STRATEGIES.join(", ")}`;
  return [{ path: ["strategy", "name"], message }];
}
