import { sampleWeights } from "../../../common/training/metrics.ts";
import type { PrivacyRules } from "../../../common/training/privacy-rules.ts";
import { SECURE_PARTICIPANTS } from "../../../common/training/secure-settings.ts";
import { fixedPointFor } from "../../compute/privacy/fixed-point.ts";
import type { Introduced } from "./participants.ts";
import type { SecurePlan } from "./plan.ts";

type Weights = SecurePlan["weights"];

/**
 * How many times lighter than the heaviest participant of the plan those in a sum may be on average. Every update is rounded to half a step
 * after it is scaled down to its weight beside the heaviest, and their mean is scaled up again: where the heaviest drops out, rounding moves
 * the mean by this many half steps. With the heaviest it is at most their number.
 */
const SUM_SKEW_MAX = 2 ** 10;

/** How many times lighter than the heaviest a participant of a plan may be. Beyond it the samples are wrong, or one decides the model. */
const PLAN_SKEW_MAX = 2 ** 20;

/**
 * The most that one participant may weigh, in times of all others but the second heaviest, which can take its own update out of the sum. Of three equal
 * participants it is once. At nine times, a ninth of the heaviest update's weight still covers it; far above, the mean is that update.
 */
const COVERED_TIMES_MAX = 9;

/** Weights by samples, or equal ones. */
export function weightsOf(introduced: ReadonlyMap<string, Pick<Introduced, "samples">>, weights: PrivacyRules["weights"]): Weights {
  const counted = sampleWeights([...introduced.values()]);
  return Object.fromEntries([...introduced.keys()].map((id, index) => [id, weights === "samples" ? (counted[index] ?? 1) : 1]));
}

/** The weight of the heaviest, to which the factors of the masked updates are relative. */
export const weightMaxOf = (weights: Weights): number => Math.max(...Object.values(weights));

/** Why participants of these weights cannot mask together, if they cannot. */
export function planProblem(weights: Weights): string | undefined {
  const shown = shownProblem(Object.entries(weights));
  if (shown !== undefined) return shown;
  const heaviest = heaviestOf(weights);
  const counted = Object.entries(weights).filter(([, weight]) => weight > 0);
  const light = counted.find(([, weight]) => weight * PLAN_SKEW_MAX < heaviest.weight);
  if (!light) return undefined;
  return `participants whose samples are too far apart for a masked sum: ${light[0]} has ${light[1]}, less than 1/${PLAN_SKEW_MAX} of the ${heaviest.weight} that ${heaviest.id} declares. ${ADVICE}`;
}

/** Why the mean of these participants' masked updates must not be unmasked: it would show one of them, or not be exact. */
export function sumProblem(
  { weights, everybody, range }: Pick<SecurePlan, "weights" | "everybody" | "range">,
  inSum: readonly string[],
): string | undefined {
  const shown = shownProblem(inSum.map((id) => [id, weights[id] ?? 1]));
  if (shown !== undefined) return shown;
  const heaviest = heaviestOf(weights);
  // An update of weight 0 is 0 in the sum, without an error.
  const counted = inSum.map((id) => weights[id] ?? 1).filter((weight) => weight > 0);
  const mean = counted.reduce((sum, weight) => sum + weight, 0) / counted.length;
  if (heaviest.weight <= mean * SUM_SKEW_MAX) return undefined;
  const halfStep = 2 ** -(fixedPointFor({ clients: everybody.length, limit: range }).fractionBits + 1);
  const error = (halfStep * heaviest.weight) / mean;
  return `${inSum.length} masked updates of ${short(mean)} samples on average, less than 1/${SUM_SKEW_MAX} of the ${heaviest.weight} that ${heaviest.id} declares, which dropped out: rounding could change their mean by ${short(error)}. ${ADVICE}`;
}

const EQUAL = "have participants declare no samples, so that all updates weigh the same";
const ADVICE = `In a new federation, set maxSamples to the most that a participant has, or ${EQUAL}.`;

/**
 * Why a mean of these weights shows the update of one participant, if it does. Updates of weight 0 hide none, and each participant can take
 * its own out: so two others must be left for every one, and the heaviest must not be nearly all that is left to the second heaviest.
 */
function shownProblem(weights: readonly (readonly [id: string, weight: number])[]): string | undefined {
  const counted = weights.filter(([, weight]) => weight > 0).toSorted(([, left], [, right]) => right - left);
  const { min } = SECURE_PARTICIPANTS;
  const [[id, heaviest] = ["", 0], second, ...others] = counted;
  if (counted.length < min) {
    const who = counted.map(([one, weight]) => `${one} (${weight})`).join(", ") || "none";
    return `${weights.length} masked updates, and ${counted.length} of them with more than 0 samples: ${who}. ${min} must have some, because two could compute each other's update, and an update of 0 samples hides no other. In a new federation, leave out participants without samples, or ${EQUAL}.`;
  }
  const rest = others.reduce((sum, [, weight]) => sum + weight, 0);
  const most = rest * COVERED_TIMES_MAX;
  if (heaviest <= most) return undefined;
  return `participants whose samples do not hide each other's update: ${id} declares ${heaviest}, more than nine tenths of all samples but those of ${second?.[0]}, so the mean would be nearly its update. Beside these, up to ${most} would be hidden. In a new federation, set maxSamples to refuse participants with more, or ${EQUAL}.`;
}

function heaviestOf(weights: Weights): { id: string; weight: number } {
  const weight = weightMaxOf(weights);
  const [id] = Object.entries(weights).find(([, one]) => one === weight) ?? [""];
  return { id, weight };
}

const short = (value: number): string => String(Number(value.toPrecision(2)));
