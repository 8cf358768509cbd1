import { Anchor, Text } from "@mantine/core";
import { IconRefresh } from "@tabler/icons-react";
import type { FederationRound } from "../../api/types.ts";
import { type Column, DataTable } from "../../components/data-table.tsx";
import { Empty } from "../../components/empty.tsx";
import { StateBadge } from "../../components/state-badge.tsx";
import { Usd } from "../../components/usd.tsx";
import { formatMs } from "../../format/text.ts";
import { percentOf } from "./federation-status.ts";

interface RoundTableProps {
  rounds: readonly FederationRound[] | undefined;
  selected: number | undefined;
  onOpen: (round: number) => void;
}

export function RoundTable({ rounds, selected, onOpen }: RoundTableProps) {
  const columns: Column<FederationRound>[] = [
    {
      title: "Round",
      cell: ({ round }) => (
        <Anchor component="button" size="sm" fw={round === selected ? 700 : 500} onClick={() => onOpen(round)}>
          Round {round}
        </Anchor>
      ),
    },
    { title: "Status", cell: ({ state }) => <StateBadge state={state} /> },
    { title: "Accuracy", cell: ({ accuracy }) => <Text size="sm">{percentOf(accuracy)}</Text>, isNumber: true },
    { title: "Loss", cell: ({ loss }) => <Text size="sm">{loss === null ? "–" : loss.toFixed(4)}</Text>, isNumber: true, wideOnly: true },
    {
      title: "Updates",
      cell: ({ participants }) => (
        <Text size="sm">
          {participants.filter(({ state }) => state === "accepted").length} of {participants.length}
        </Text>
      ),
      isNumber: true,
      wideOnly: true,
    },
    { title: "Duration", cell: (round) => <Text size="sm">{took(round)}</Text>, isNumber: true, wideOnly: true },
    { title: "Reward", cell: ({ budgetUsd }) => <Usd amount={budgetUsd} size="sm" />, isNumber: true, wideOnly: true },
  ];
  return (
    <DataTable
      label="Rounds"
      columns={columns}
      rows={rounds?.toReversed()}
      rowKey={({ round }) => String(round)}
      empty={
        <Empty icon={IconRefresh} title="No rounds yet">
          Rounds start as soon as enough participants are available.
        </Empty>
      }
    />
  );
}

function took({ openedAt, committedAt }: FederationRound): string {
  return committedAt === null ? "–" : formatMs(Date.parse(committedAt) - Date.parse(openedAt));
}
