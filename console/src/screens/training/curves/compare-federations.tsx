import { Group, MultiSelect, Skeleton, Stack, Text } from "@mantine/core";
import { useQueries, useQuery } from "@tanstack/react-query";
import { allFederationsQuery, metricsQuery } from "../../../api/training.ts";
import { Failure } from "../../../components/failure.tsx";
import { useAddress } from "../../../components/use-address.ts";
import { count } from "../../../format/text.ts";
import { CurveChart } from "./curve-chart.tsx";
import { aggregateLine, metricNames } from "./metric-lines.ts";
import { MetricPicker, useMetric } from "./metric-picker.tsx";

const FEDERATIONS_MAX = 6;

/** The aggregates of up to six federations on one chart; the choice is in the address. */
export function CompareFederations() {
  const [address, setAddress] = useAddress();
  const { data: known, error } = useQuery(allFederationsQuery);
  const chosen = String(address.ids ?? "")
    .split(",")
    .filter(Boolean)
    .slice(0, FEDERATIONS_MAX);
  const measured = useQueries({ queries: chosen.map(metricsQuery) });
  const names = metricNames(measured.flatMap(({ data }) => data?.rounds ?? []));
  const metric = useMetric(names);
  const nameOf = (id: string) => known?.find((federation) => federation.id === id)?.name ?? id;
  const options = [...new Set([...(known ?? []).map(({ id }) => id), ...chosen])];
  // Federations may share a name; then the end of the id tells them apart.
  const labelOf = (id: string) =>
    options.filter((other) => nameOf(other) === nameOf(id)).length > 1 ? `${nameOf(id)} …${id.slice(-6)}` : nameOf(id);
  const lines = chosen.map((id, index) => ({
    ...{ id, label: labelOf(id) },
    points: metric === undefined ? [] : aggregateLine(measured[index]?.data?.rounds ?? [], metric),
  }));
  return (
    <Stack gap="sm">
      <Failure error={error ?? measured.find((query) => query.error)?.error ?? null} />
      <Group align="flex-start">
        <MultiSelect
          label="Federations"
          description={`Up to ${FEDERATIONS_MAX}`}
          data={options.map((id) => ({ value: id, label: labelOf(id) }))}
          value={chosen}
          onChange={(ids) => setAddress({ ids: ids.join(",") })}
          maxValues={FEDERATIONS_MAX}
          searchable
          clearable
          inputWrapperOrder={["label", "input", "description", "error"]}
          flex={1}
          miw={220}
        />
        <MetricPicker names={names} metric={metric} />
      </Group>
      <Chart lines={lines} metric={metric} isLoading={measured.some(({ isLoading }) => isLoading)} />
    </Stack>
  );
}

function Chart({
  lines,
  metric,
  isLoading,
}: {
  lines: Parameters<typeof CurveChart>[0]["lines"];
  metric: string | undefined;
  isLoading: boolean;
}) {
  if (isLoading) return <Skeleton height={320} />;
  if (metric !== undefined)
    return <CurveChart label={`${metric} by round of ${count(lines.length, "federation")}`} metric={metric} lines={lines} height={320} />;
  return (
    <Text size="sm" c="dimmed">
      {lines.length === 0 ? "Choose federations to compare their curves." : "No evaluated rounds yet."}
    </Text>
  );
}
