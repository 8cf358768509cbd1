import type { FederationRound } from "../../api/types.ts";
import { totalRewards } from "./total-rewards.ts";

type Participant = FederationRound["participants"][number];
const gave = (participantId: string, rewardUsd: string, state = "accepted") =>
  ({ participantId, rewardUsd, state, samples: 10 }) as Participant;

test("rewards add up to the nano-USD over all rounds, the most rewarded first; a rejected update counts as requested only", () => {
  const rounds = [
    { participants: [gave("a", "0.000000001"), gave("b", "0.3")] },
    { participants: [gave("a", "0.000000002", "rejected"), gave("b", "0.1")] },
  ];
  expect(totalRewards(rounds)).toEqual([
    { participantId: "b", rewardNano: 400_000_000n, accepted: 2, asked: 2, samples: 20 },
    { participantId: "a", rewardNano: 3n, accepted: 1, asked: 2, samples: 20 },
  ]);
});
