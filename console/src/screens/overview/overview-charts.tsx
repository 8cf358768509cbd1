import { Skeleton } from "@mantine/core";
import { IconChartBar } from "@tabler/icons-react";
import type { Usage } from "../../api/queries.ts";
import type { UsageBucket } from "../../api/types.ts";
import { Empty } from "../../components/empty.tsx";
import { LazyChart } from "../../components/lazy-chart.tsx";
import { bucketKey, bucketsOf, RANGES, type RangeName } from "../../components/time-range.ts";
import { formatUsd, usdNumber } from "../../format/money.ts";
import { formatMs } from "../../format/text.ts";

interface UsageChart {
  usage: Usage | undefined;
  range: RangeName;
  timeZone: string;
}

export function SpendChart({ usage, range, timeZone }: UsageChart) {
  if (!usage) return <Skeleton height={220} />;
  const data = inBuckets(usage.data, { range, timeZone }, (bucket) => ({ cost: usdNumber(bucket?.costUsd ?? "0") }));
  return (
    <LazyChart
      kind="bar"
      isMoney
      label={`Spend over time, ${formatUsd(usage.meta.totals.costUsd)} total`}
      data={data}
      series={[{ name: "cost", label: "Spend", color: "river.6" }]}
      format={(value) => formatUsd(value.toFixed(9))}
    />
  );
}

export function RequestsChart({ usage, range, timeZone }: UsageChart) {
  if (!usage) return <Skeleton height={220} />;
  const data = inBuckets(usage.data, { range, timeZone }, (bucket) => ({
    succeeded: (bucket?.requests ?? 0) - (bucket?.errors ?? 0),
    errors: bucket?.errors ?? 0,
  }));
  return (
    <LazyChart
      kind="bar"
      isStacked
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

export function LatencyChart({ usage, range, timeZone }: UsageChart) {
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
    { range, timeZone },
    (bucket): Record<string, number> => ({
      ...(bucket?.latencyMsP50 == null ? {} : { median: bucket.latencyMsP50 }),
      ...(bucket?.latencyMsP95 == null ? {} : { slow: bucket.latencyMsP95 }),
    }),
  );
  return (
    <LazyChart
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
  { range, timeZone }: { range: RangeName; timeZone: string },
  point: (bucket: UsageBucket | undefined) => Point,
): ({ label: string } & Point)[] {
  const { interval } = RANGES[range];
  const known = new Map(data.map((bucket) => [bucketKey(interval, Date.parse(bucket.bucket), timeZone), bucket]));
  return bucketsOf(range, { now: Date.now(), timeZone }).map(({ key, label }) => ({ label, ...point(known.get(key)) }));
}
