import { Skeleton } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Failure } from "../../components/failure.tsx";
import { LazyChart } from "../../components/lazy-chart.tsx";
import { formatMs } from "../../format/words.ts";
import { latencyQuery, medians } from "./latency-sample.ts";
import { asQuery, type UsageWindow } from "./usage-window.ts";

export function LatencyChart({ window, timeZone }: { window: UsageWindow; timeZone: string }) {
  const { data, error } = useQuery(latencyQuery(asQuery(window.span, timeZone)));
  if (error) return <Failure error={error} />;
  if (!data) return <Skeleton height={300} />;
  return (
    <LazyChart
      kind="line"
      height={300}
      label={`Latency per ${window.interval}, of ${data.length} calls`}
      data={medians(data, window, timeZone)}
      series={[
        { name: "median", label: "Median", color: "river.6" },
        { name: "slow", label: "95th percentile", color: "orange.6" },
      ]}
      format={formatMs}
    />
  );
}
