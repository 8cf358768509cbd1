import { Text } from "@mantine/core";
import type { Federation, FederationRound } from "../../api/types.ts";
import { Card } from "../../components/card.tsx";
import { type Column, DataTable } from "../../components/data-table.tsx";
import { StateBadge } from "../../components/state-badge.tsx";
import { Usd } from "../../components/usd.tsx";
import { formatMs } from "../../format/text.ts";

type Participant = FederationRound["participants"][number];

/** Updates of one round with their scores and rewards. */
export function RoundDetail({ round, federation }: { round: FederationRound; federation: Federation }) {
  const places = new Map(federation.participants.map(({ id, url }, index) => [id, { place: index + 1, url }]));
  const columns: Column<Participant>[] = [
    {
      title: "Participant",
      cell: ({ participantId, reason }) => (
        <div style={{ minWidth: 120 }}>
          <Text size="sm">Participant {places.get(participantId)?.place}</Text>
          <Text size="xs" c="dimmed" style={{ overflowWrap: "anywhere" }}>
            {places.get(participantId)?.url ?? participantId}
          </Text>
          {reason !== null && (
            <Text size="xs" c="dimmed">
              {reason}
            </Text>
          )}
        </div>
      ),
    },
    {
      title: "Status",
      cell: ({ state, kept, progress }) => (
        <>
          <StateBadge state={kept === false ? "excluded" : state} />
          {state === "selected" && progress !== null && <Text size="xs">{Math.round(progress * 100)} %</Text>}
        </>
      ),
    },
    {
      title: "Samples",
      cell: ({ samples }) => <Text size="sm">{samples?.toLocaleString("en-US") ?? "–"}</Text>,
      isNumber: true,
      wideOnly: true,
    },
    { title: "Norm", cell: ({ norm }) => <Text size="sm">{norm?.toFixed(3) ?? "–"}</Text>, isNumber: true, wideOnly: true },
    { title: "Cosine", cell: ({ cosine }) => <Text size="sm">{cosine?.toFixed(3) ?? "–"}</Text>, isNumber: true, wideOnly: true },
    {
      title: "Score",
      cell: ({ contribution }) => <Text size="sm">{contribution.toLocaleString("en-US", { maximumFractionDigits: 3 })}</Text>,
      isNumber: true,
      wideOnly: true,
    },
    { title: "Duration", cell: ({ durationMs }) => <Text size="sm">{formatMs(durationMs)}</Text>, isNumber: true, wideOnly: true },
    { title: "Reward", cell: ({ rewardUsd }) => <Usd amount={rewardUsd} size="sm" />, isNumber: true },
  ];
  return (
    <Card
      title={`Round ${round.round}`}
      about={round.recordHash === null ? "open" : `record hash ${round.recordHash.slice(0, 16)}…, chained to the previous round`}
    >
      <DataTable
        label={`Participants of round ${round.round}`}
        columns={columns}
        rows={round.participants}
        rowKey={({ participantId }) => participantId}
        empty={<Text size="sm">No participants yet.</Text>}
      />
    </Card>
  );
}
