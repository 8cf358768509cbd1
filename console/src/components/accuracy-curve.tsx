import { Skeleton, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { roundsQuery } from "../api/training.ts";
import { LazyChart } from "./lazy-chart.tsx";

const percent = (share: number): string => `${(100 * share).toFixed(1)}%`;

/** How well each committed round did, as far as rounds were judged; nothing for whoever may not see the federation. */
export function AccuracyCurve({ federationId, height = 180 }: { federationId: string; height?: number }) {
  const { data, error } = useQuery(roundsQuery(federationId));
  if (error) return null;
  if (!data) return <Skeleton height={height} />;
  const judged = data.filter(({ accuracy }) => accuracy !== null);
  if (judged.length === 0) {
    return (
      <Text size="sm" c="dimmed">
        No round has been judged yet; a federation with `eval` has an accuracy after each.
      </Text>
    );
  }
  return (
    <LazyChart
      kind="line"
      height={height}
      label={`Accuracy of ${judged.length} rounds, the last ${percent(judged.at(-1)?.accuracy ?? 0)}`}
      data={judged.map(({ round, accuracy }) => ({ label: `Round ${round}`, accuracy: accuracy ?? 0 }))}
      series={[{ name: "accuracy", label: "Accuracy", color: "river.6" }]}
      format={percent}
    />
  );
}
