import { Text } from "@mantine/core";
import type { Federation, FederationRound } from "../../api/types.ts";
import { Card } from "../../components/card.tsx";
import { type Column, DataTable } from "../../components/data-table.tsx";
import { Usd } from "../../components/usd.tsx";
import { usdOfNano } from "../../format/money.ts";
import { type Reward, totalRewards } from "./total-rewards.ts";

/** Rewards of each participant over all rounds. */
export function RewardTable({ federation, rounds }: { federation: Federation; rounds: readonly FederationRound[] }) {
  const places = new Map(federation.participants.map(({ id, url }, index) => [id, { place: index + 1, url }]));
  const columns: Column<Reward>[] = [
    {
      title: "Participant",
      cell: ({ participantId }) => (
        <div style={{ minWidth: 120 }}>
          <Text size="sm">Participant {places.get(participantId)?.place}</Text>
          <Text size="xs" c="dimmed" style={{ overflowWrap: "anywhere" }}>
            {places.get(participantId)?.url ?? participantId}
          </Text>
        </div>
      ),
    },
    {
      title: "Updates accepted",
      cell: ({ accepted, asked }) => (
        <Text size="sm">
          {accepted} of {asked}
        </Text>
      ),
      isNumber: true,
    },
    {
      title: "Samples",
      cell: ({ samples }) => <Text size="sm">{samples.toLocaleString("en-US")}</Text>,
      isNumber: true,
      wideOnly: true,
    },
    { title: "Earned", cell: ({ rewardNano }) => <Usd amount={usdOfNano(rewardNano)} size="sm" fw={600} />, isNumber: true },
  ];
  const rewards = totalRewards(rounds);
  const all = rewards.reduce((sum, { rewardNano }) => sum + rewardNano, 0n);
  return (
    <Card title="Rewards" about="share of the rewards of all committed rounds, by contribution">
      <DataTable
        label="Rewards"
        columns={columns}
        rows={rewards}
        rowKey={({ participantId }) => participantId}
        empty={<Text size="sm">No participants yet.</Text>}
      />
      {rewards.length > 0 && (
        <Text size="sm" mt="sm">
          <Usd amount={usdOfNano(all)} fw={600} /> paid in total.
        </Text>
      )}
    </Card>
  );
}
