import { Skeleton } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { usageQuery } from "../../api/queries.ts";
import type { UsageBucket } from "../../api/types.ts";
import { TimeChart } from "../../components/charts/time-chart.tsx";
import { useChartLinks } from "../../components/charts/use-chart-links.ts";
import { Failure } from "../../components/failure.tsx";
import { bucketKey } from "../../components/time-range.ts";
import { asQuery, type UsageWindow } from "../../components/usage-window.ts";
import { formatMs } from "../../format/text.ts";
import { COLORS, groupFilter } from "./stacked-chart.tsx";

interface LatencyChartProps {
  buckets: readonly UsageBucket[] | undefined;
  groups: readonly { group: string; name: string }[];
  window: UsageWindow;
  timeZone: string;
  filter: string | undefined;
}

const GROUPS_MAX = COLORS.length - 1;

/** Median latency of each group and the 95th percentile of all calls, as lines, because medians do not add up. */
export function LatencyChart({ buckets, groups, window, timeZone, filter }: LatencyChartProps) {
  const links = useChartLinks({ window, timeZone, filterOf: (series) => groupFilter({ filter, groups, series }) });
  const { data: all, error } = useQuery(usageQuery({ ...asQuery(window.span, timeZone), interval: window.interval }));
  if (error) return <Failure error={error} />;
  if (!buckets || !all) return <Skeleton height={300} />;
  const own = groups.slice(0, GROUPS_MAX);
  const keyOf = new Map(own.map(({ group }, index) => [group, `g${index}`]));
  const points = new Map(window.buckets.map(({ key, label }) => [key, { label } as Record<string, string | number>]));
  const put = (bucket: UsageBucket, key: string | undefined, value: number | null) => {
    const point = points.get(bucketKey(window.interval, Date.parse(bucket.bucket), timeZone));
    if (point && key !== undefined && value !== null) point[key] = value;
  };
  for (const bucket of buckets) put(bucket, keyOf.get(bucket.group ?? ""), bucket.latencyMsP50);
  for (const bucket of all.data) put(bucket, "slow", bucket.latencyMsP95);
  return (
    <TimeChart
      {...links}
      kind="line"
      height={300}
      label={`Median latency per ${window.interval} in milliseconds, of ${own.length} groups`}
      data={[...points.values()]}
      series={[
        ...own.map(({ name }, index) => ({ name: `g${index}`, label: name, color: COLORS[index] ?? "gray.6" })),
        { name: "slow", label: "95th percentile, all", color: "gray.6" },
      ]}
      format={formatMs}
    />
  );
}
