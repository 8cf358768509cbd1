import { Skeleton } from "@mantine/core";
import type { UsageBucket } from "../../api/types.ts";
import { TimeChart } from "../../components/charts/time-chart.tsx";
import { useChartLinks } from "../../components/charts/use-chart-links.ts";
import { bucketKey } from "../../components/time-range.ts";
import type { UsageWindow } from "../../components/usage-window.ts";
import { METRICS, type Metric } from "./metrics.ts";

export const COLORS = ["river.6", "orange.6", "violet.6", "green.7", "pink.6", "blue.6", "yellow.7"];
const OTHERS = "others";

interface StackedChartProps {
  buckets: readonly UsageBucket[] | undefined;
  /** Groups, largest first; groups beyond the number of colors are merged. */
  groups: readonly { group: string; name: string }[];
  metric: Metric;
  window: UsageWindow;
  timeZone: string;
  /** The log filter that takes a group; undefined if the logs have none. */
  filter: string | undefined;
}

export function StackedChart({ buckets, groups, metric, window, timeZone, filter }: StackedChartProps) {
  const { buckets: bars, interval } = window;
  const filterOf = (series: string | undefined) => ({
    ...groupFilter({ filter, groups, series }),
    ...(metric === METRICS.errors ? { status: "error" } : {}),
  });
  const links = useChartLinks({ window, timeZone, filterOf });
  if (!buckets) return <Skeleton height={300} />;
  const own = groups.slice(0, COLORS.length);
  // Group names are user input, so chart keys are generated.
  const keyOf = new Map(own.map(({ group }, index) => [group, `g${index}`]));
  const data = new Map(bars.map(({ key, label }) => [key, { label } as Record<string, string | number>]));
  for (const bucket of buckets) {
    const bar = data.get(bucketKey(interval, Date.parse(bucket.bucket), timeZone));
    const key = keyOf.get(bucket.group ?? "") ?? OTHERS;
    if (bar) bar[key] = Number(bar[key] ?? 0) + metric.of(bucket);
  }
  const series = own.map(({ name }, index) => ({ name: `g${index}`, label: name, color: COLORS[index] ?? "gray.6" }));
  const rest = groups.length > own.length ? [{ name: OTHERS, label: `${groups.length - own.length} others`, color: "gray.6" }] : [];
  return (
    <TimeChart
      {...links}
      kind="bar"
      isCount={metric.unit !== "USD"}
      isMoney={metric.unit === "USD"}
      height={300}
      label={`${metric.label} per ${interval} in ${metric.unit}, by ${groups.length} groups`}
      data={[...data.values()]}
      series={[...series, ...rest]}
      format={metric.format}
    />
  );
}

interface GroupFilter {
  readonly filter: string | undefined;
  readonly groups: readonly { group: string }[];
  readonly series: string | undefined;
}

/** The group of a series `g<index>`; merged groups and the 95th percentile of all have none. */
export function groupFilter({ filter, groups, series }: GroupFilter): Record<string, string> {
  const group = series?.startsWith("g") ? groups[Number(series.slice(1))]?.group : undefined;
  return filter && group ? { [filter]: group } : {};
}
