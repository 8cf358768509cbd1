import { Alert, Anchor, Group, List, MultiSelect, Skeleton, Stack, Text } from "@mantine/core";
import type { Federation } from "../../../api/types.ts";
import { Card } from "../../../components/card.tsx";
import { useAddress } from "../../../components/use-address.ts";
import { count } from "../../../format/text.ts";
import { CurveChart, type CurveLine } from "./curve-chart.tsx";
import {
  aggregateLine,
  type EvaluationFailure,
  evaluationFailures,
  type MeasuredRound,
  metricNames,
  participantLine,
} from "./metric-lines.ts";
import { MetricPicker, useMetric } from "./metric-picker.tsx";

/** Participants whose curves are shown until others are chosen. */
const SHOWN_FIRST = 8;
const SHOWN_MAX = 24;
const FAILURES_MAX = 10;

/** Curves of a federation: the aggregate and the chosen participants, of any number that training and evaluation returned. */
export function FederationCurves({ federation, rounds }: { federation: Federation; rounds: readonly MeasuredRound[] | undefined }) {
  const [address, setAddress] = useAddress();
  const names = metricNames(rounds ?? []);
  const metric = useMetric(names);
  const places = federation.participants.map(({ id }, index) => ({ value: id, label: `Participant ${index + 1}` }));
  const chosen = chosenOf(
    address.clients,
    places.map(({ value }) => value),
  );
  const labelOf = (id: string) => places.find(({ value }) => value === id)?.label ?? id;
  const lines: CurveLine[] =
    metric === undefined
      ? []
      : [
          { id: "aggregate", label: "All participants", points: aggregateLine(rounds ?? [], metric), isMain: true },
          ...chosen.map((id) => ({ id, label: labelOf(id), points: participantLine(rounds ?? [], metric, id) })),
        ];
  return (
    <Card
      title="Curves"
      about="every number that training and evaluation returned, by round"
      action={
        <Anchor href={`/training/federations/${federation.id}/metrics?format=csv`} download size="sm">
          Download CSV
        </Anchor>
      }
    >
      <Stack gap="sm">
        <Group align="flex-start">
          <MetricPicker names={names} metric={metric} />
          <MultiSelect
            label="Participants"
            data={places}
            value={chosen}
            onChange={(next) => setAddress({ clients: next.length === 0 ? "none" : next.join(",") })}
            maxValues={SHOWN_MAX}
            searchable
            clearable
            flex={1}
            miw={220}
          />
        </Group>
        <Chart {...{ lines, metric, isLoading: rounds === undefined }} />
        <Failures failures={evaluationFailures(rounds ?? [])} labelOf={labelOf} />
      </Stack>
    </Card>
  );
}

function chosenOf(given: unknown, ids: readonly string[]): string[] {
  if (given === undefined) return ids.length <= SHOWN_FIRST ? [...ids] : [];
  const asked = String(given).split(",");
  return ids.filter((id) => asked.includes(id)).slice(0, SHOWN_MAX);
}

function Chart({ lines, metric, isLoading }: { lines: readonly CurveLine[]; metric: string | undefined; isLoading: boolean }) {
  if (isLoading) return <Skeleton height={260} />;
  // The accuracy of held-out data belongs to no participant: such lines are empty and have no place in the legend.
  const shown = lines.filter(({ points }) => points.length > 0);
  if (metric === undefined || shown.length === 0) {
    return (
      <Text size="sm" c="dimmed">
        No evaluated rounds yet.
      </Text>
    );
  }
  return <CurveChart label={`${metric} by round, ${count(shown.length, "curve")}`} metric={metric} lines={shown} />;
}

function Failures({ failures, labelOf }: { failures: readonly EvaluationFailure[]; labelOf: (id: string) => string }) {
  if (failures.length === 0) return null;
  return (
    <Alert color="yellow" variant="light" title="Evaluations that failed">
      <List size="sm">
        {failures.slice(-FAILURES_MAX).map(({ participantId, reason, rounds }) => (
          <List.Item key={`${participantId} ${reason}`}>
            {labelOf(participantId)}, {rounds.length === 1 ? `round ${rounds[0]}` : `${rounds.length} rounds, last ${rounds.at(-1)}`}:{" "}
            {reason}
          </List.Item>
        ))}
      </List>
      {failures.length > FAILURES_MAX && <Text size="sm">and {failures.length - FAILURES_MAX} more</Text>}
    </Alert>
  );
}
