import { Group, Progress, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { roundQuery } from "../../api/training.ts";
import type { Federation, FederationRound } from "../../api/types.ts";
import { Card } from "../../components/card.tsx";
import { StateBadge } from "../../components/state-badge.tsx";
import { formatMs } from "../../format/text.ts";

const LANES_MAX = 50;
const PROGRESS_MS = 1_000;

/** The open round, a lane for each participant: how far its training is, or how it ended. */
export function ParticipantLanes({ federation, round: listed }: { federation: Federation; round: FederationRound }) {
  const places = new Map(federation.participants.map(({ id }, index) => [id, index + 1]));
  // Progress has no events of its own.
  const { data } = useQuery({ ...roundQuery(federation.id, listed.round), refetchInterval: PROGRESS_MS });
  const round = data ?? listed;
  const { participants } = round;
  return (
    <Card title={`Round ${round.round}, now`} about={federation.phase ?? round.state}>
      <Stack gap="xs" component="ul" p={0} m={0} style={{ listStyle: "none" }} aria-label="Participants at work">
        {participants.slice(0, LANES_MAX).map(({ participantId, state, progress, durationMs, reason }) => {
          const name = `Participant ${places.get(participantId) ?? participantId}`;
          const share = state === "selected" ? (progress ?? 0) : 1;
          return (
            <Group key={participantId} component="li" gap="sm" wrap="nowrap">
              <Text size="sm" w={120} style={{ flexShrink: 0 }}>
                {name}
              </Text>
              <Progress
                value={100 * share}
                color={LANE_COLORS[state] ?? "red"}
                flex={1}
                animated={state === "selected"}
                striped={state === "selected"}
                aria-label={`Training of ${name}`}
              />
              <Group w={150} gap={6} wrap="nowrap" style={{ flexShrink: 0 }} title={reason ?? undefined}>
                <StateBadge state={state} />
                <Text size="xs">
                  {state === "selected" ? (progress === null ? "" : `${Math.round(100 * progress)}%`) : formatMs(durationMs)}
                </Text>
              </Group>
            </Group>
          );
        })}
      </Stack>
      {participants.length > LANES_MAX && (
        <Text size="sm" mt="xs">
          and {participants.length - LANES_MAX} more
        </Text>
      )}
    </Card>
  );
}

const LANE_COLORS: Readonly<Record<string, string>> = { selected: "river", accepted: "green" };
