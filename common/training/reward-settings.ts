import { z } from "zod";

const MEASURES = ["samples", "cosine", "leave_one_out", "equal"] as const;
type RewardMeasure = (typeof MEASURES)[number];

/** How a round's budget is shared. */
export const rewardSettings = z.strictObject({
  by: z.enum(MEASURES, "must be samples, cosine, leave_one_out or equal").optional(),
});

interface Asked {
  readonly rewards?: z.infer<typeof rewardSettings> | undefined;
  readonly maxSamples?: number | undefined;
  readonly dp?: { readonly mode: string } | undefined;
  readonly secureAggregation?: unknown;
}

/** Measures that show something of a single update. */
const OF_ONE: ReadonlySet<RewardMeasure> = new Set(["cosine", "leave_one_out"]);

/**
 * The measure of a federation. Samples are declared by the participants themselves, so without `maxSamples` they do not decide rewards
 * unless the federation asks for that: each update counts by its direction, or, where no single one may be looked at, like the others.
 */
export function rewardMeasure(asked: Asked): RewardMeasure {
  if (asked.rewards?.by) return asked.rewards.by;
  if (asked.maxSamples !== undefined) return "samples";
  return hiddenBy(asked) ? "equal" : "cosine";
}

/** What counts if the measure cannot be computed in a round. */
export const fallbackMeasure = ({ maxSamples }: Pick<Asked, "maxSamples">): "equal" | "samples" =>
  maxSamples === undefined ? "equal" : "samples";

/** Why no figure of a single update may come out of a round; undefined if it may. */
export function hiddenBy({ dp, secureAggregation }: Pick<Asked, "dp" | "secureAggregation">): string | undefined {
  if (secureAggregation) return "secureAggregation shows only the sum of the updates";
  return dp?.mode === "central" ? "dp.mode central adds its noise to the result, and this figure would be exact" : undefined;
}

/** What is wrong with the rewards in these settings, by path. */
export function rewardProblems(asked: Asked): { path: string[]; message: string }[] {
  const by = asked.rewards?.by;
  const reason = hiddenBy(asked);
  if (by === undefined || !OF_ONE.has(by) || reason === undefined) return [];
  return [{ path: ["rewards", "by"], message: `${by} needs every single update, and ${reason}; use equal or samples` }];
}
