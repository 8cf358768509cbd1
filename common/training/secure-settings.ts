import { z } from "zod";
import { wholeUp } from "../strategies/shared/whole.ts";

// Sums of updates that hide every single one: how many participants may drop out, and how large a number may be.

/** How many participants mask with each other. From a sum of two, each could compute the other's update. */
export const SECURE_PARTICIPANTS = { min: 3, max: 255 };

const fields = z.strictObject({
  /** Share of a round's participants that must stay to the end, or nothing comes out; above a half. */
  threshold: z
    .number()
    .gt(0.5, "must be above 0.5")
    .max(1, "must be at most 1")
    .default(2 / 3),
  /** Greatest magnitude of a parameter; with the number of participants it says how fine the sum is. */
  range: z.number().positive("must be above 0").max(1e6).default(64),
});

export const secureAggregation = z.preprocess((given) => (given === true ? {} : given), fields);
export type SecureAggregation = z.infer<typeof fields>;

interface Asked {
  readonly participants?: readonly { readonly join?: boolean | undefined }[];
}

/** What secure aggregation does not work with beside strategies, by path. */
export function secureProblems({ participants }: Asked): { path: string[]; message: string }[] {
  const problems: { path: string[]; message: string }[] = [];
  if (!participants) return problems;
  const { min, max } = SECURE_PARTICIPANTS;
  if (participants.length < min || participants.length > max) {
    problems.push({ path: ["participants"], message: `must have ${min} to ${max} entries with secureAggregation` });
  }
  for (const [index, { join }] of participants.entries()) {
    if (!join) continue;
    const message = "secureAggregation needs participants that can be called; give url";
    problems.push({ path: ["participants", String(index), "join"], message });
  }
  return problems;
}

/**
 * How many of so many must stay to the end: more than half, or two halves could be given different lists; and never so few that they could
 * compute each other's updates.
 */
export function thresholdOf({ threshold }: SecureAggregation, participants: number): number {
  return Math.max(SECURE_PARTICIPANTS.min, Math.floor(participants / 2) + 1, wholeUp(threshold * participants));
}
