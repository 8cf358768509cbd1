import { Skeleton } from "@mantine/core";
import type { UsageBucket } from "../../api/types.ts";
import { LazyChart } from "../../components/lazy-chart.tsx";
import { bucketKey } from "../../components/time-range.ts";
import type { Metric } from "./metrics.ts";
import type { UsageWindow } from "./usage-window.ts";

export const COLORS = ["river.6", "orange.6", "violet.6", "green.7", "pink.6", "blue.6", "yellow.7"];
const OTHERS = "others";

interface StackedChartProps {
  buckets: readonly UsageBucket[] | undefined;
  /** Groups, largest first; groups beyond the number of colors are merged. */
  groups: readonly { group: string; name: string }[];
  metric: Metric;
  window: UsageWindow;
  timeZone: string;
}

export function StackedChart({ buckets, groups, metric, window: { buckets: bars, interval }, timeZone }: StackedChartProps) {
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
    <LazyChart
      kind="bar"
      isStacked
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
