import type { FederationRound } from "../../api/types.ts";
import { nanoOf } from "../../format/money.ts";

export interface Reward {
  readonly participantId: string;
  readonly rewardNano: bigint;
  /** Number of rounds that accepted its update. */
  readonly accepted: number;
  readonly asked: number;
  readonly samples: number;
}

/** Totals of each participant over all rounds, highest reward first, exact in nano-USD. */
export function totalRewards(rounds: readonly Pick<FederationRound, "participants">[]): Reward[] {
  const totals = new Map<string, Reward>();
  for (const { participants } of rounds) {
    for (const { participantId, rewardUsd, state, samples } of participants) {
      const total = totals.get(participantId) ?? { participantId, rewardNano: 0n, accepted: 0, asked: 0, samples: 0 };
      totals.set(participantId, {
        participantId,
        rewardNano: total.rewardNano + nanoOf(rewardUsd),
        accepted: total.accepted + (state === "accepted" ? 1 : 0),
        asked: total.asked + 1,
        samples: total.samples + (samples ?? 0),
      });
    }
  }
  return [...totals.values()].sort((left, right) => (left.rewardNano < right.rewardNano ? 1 : left.rewardNano > right.rewardNano ? -1 : 0));
}
