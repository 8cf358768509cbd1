import { Skeleton } from "@mantine/core";
import { IconChartBar } from "@tabler/icons-react";
import type { Usage } from "../../api/queries.ts";
import type { UsageBucket } from "../../api/types.ts";
import { TimeChart } from "../../components/charts/time-chart.tsx";
import { useChartLinks } from "../../components/charts/use-chart-links.ts";
import { Empty } from "../../components/empty.tsx";
import { bucketKey } from "../../components/time-range.ts";
import type { UsageWindow } from "../../components/usage-window.ts";
import { formatUsd, usdNumber } from "../../format/money.ts";
import { formatMs } from "../../format/text.ts";

interface UsageChart {
  usage: Usage | undefined;
  window: UsageWindow;
  timeZone: string;
  /** The log filter of the calls in the chart. */
  filter?: Readonly<Record<string, string>>;
}

export function SpendChart({ usage, window, timeZone, filter }: UsageChart) {
  const links = useChartLinks({ window, timeZone, filterOf: () => ({ ...filter }) });
  if (!usage) return <Skeleton height={220} />;
  const data = inBuckets(usage.data, { window, timeZone }, (bucket) => ({ cost: usdNumber(bucket?.costUsd ?? "0") }));
  return (
    <TimeChart
      {...links}
      kind="bar"
      isMoney
      label={`Spend over time, ${formatUsd(usage.meta.totals.costUsd)} total`}
      data={data}
      series={[{ name: "cost", label: "Spend", color: "river.6" }]}
      format={(value) => formatUsd(value.toFixed(9))}
    />
  );
}

export function RequestsChart({ usage, window, timeZone, filter }: UsageChart) {
  const links = useChartLinks({
    window,
    timeZone,
    filterOf: (series) => ({ ...filter, ...(series === "errors" ? { status: "error" } : {}) }),
  });
  if (!usage) return <Skeleton height={220} />;
  const data = inBuckets(usage.data, { window, timeZone }, (bucket) => ({
    succeeded: (bucket?.requests ?? 0) - (bucket?.errors ?? 0),
    errors: bucket?.errors ?? 0,
  }));
  return (
    <TimeChart
      {...links}
      kind="bar"
      isCount
      label={`Requests over time, ${usage.meta.totals.requests} total`}
      data={data}
      series={[
        { name: "succeeded", label: "Succeeded", color: "river.6" },
        { name: "errors", label: "Errors", color: "red.6" },
      ]}
      format={(value) => value.toLocaleString("en-US")}
    />
  );
}

export function LatencyChart({ usage, window, timeZone, filter }: UsageChart) {
  const links = useChartLinks({ window, timeZone, filterOf: () => ({ ...filter }) });
  if (!usage) return <Skeleton height={200} />;
  if (usage.data.length === 0) {
    return (
      <Empty icon={IconChartBar} title="No calls in this period">
        Calls appear here when they end.
      </Empty>
    );
  }
  // A bucket without calls has no point, because its latency is not zero.
  const data = inBuckets(
    usage.data,
    { window, timeZone },
    (bucket): Record<string, number> => ({
      ...(bucket?.latencyMsP50 == null ? {} : { median: bucket.latencyMsP50 }),
      ...(bucket?.latencyMsP95 == null ? {} : { slow: bucket.latencyMsP95 }),
    }),
  );
  return (
    <TimeChart
      {...links}
      kind="line"
      height={200}
      label="Latency over time, median and 95th percentile"
      data={data}
      series={[
        { name: "median", label: "Median", color: "river.6" },
        { name: "slow", label: "95th percentile", color: "orange.6" },
      ]}
      format={formatMs}
    />
  );
}

function inBuckets<Point extends Record<string, number>>(
  data: readonly UsageBucket[],
  { window, timeZone }: { window: UsageWindow; timeZone: string },
  point: (bucket: UsageBucket | undefined) => Point,
): ({ label: string } & Point)[] {
  const known = new Map(data.map((bucket) => [bucketKey(window.interval, Date.parse(bucket.bucket), timeZone), bucket]));
  return window.buckets.map(({ key, label }) => ({ label, ...point(known.get(key)) }));
}
