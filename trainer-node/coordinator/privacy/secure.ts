import { requireSecure } from "../deps.ts";
import { collectMasked } from "../secure/collect-masked.ts";
import { unmaskSum } from "../secure/combine-masked.ts";
import { dropPlan, secureRoundId } from "../secure/plan.ts";
import type { PrivacyMode } from "./privacy-mode.ts";

/** Participants mask their updates, and the coordinator reads only their sum. The given noise mode processes the sum. */
export function secure(noise: PrivacyMode): PrivacyMode {
  return {
    ...noise,
    reach: (run, participant, signal) => requireSecure(run).participants.reach(participant, signal),
    collect: collectMasked,
    combine: async (run, round, accepted) => noise.combineSum(run, round, await unmaskSum(run, round, accepted)),
    finish: (run, round) => dropPlan(run.deps.blobs, secureRoundId(run, round)),
  };
}
