import { Skeleton } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { get, type Query } from "../../api/client.ts";
import type { UsageBucket } from "../../api/types.ts";
import { TimeChart } from "../../components/charts/time-chart.tsx";
import { bucketKey, bucketsOf, RANGES, type RangeName, rangeStart } from "../../components/time-range.ts";
import { LOG_STATES } from "./log-filter.ts";

const COLORS: Readonly<Record<string, string>> = { success: "teal.6", error: "red.6", cancelled: "gray.6", refused: "orange.6" };

interface LogHistogramProps {
  query: Query;
  /** Without a chosen time the bars are days of the last month. */
  range: RangeName | undefined;
  timeZone: string;
}

/** Calls over time by status, for the filters of the log. It is made of roll-ups, which know no text. */
export function LogHistogram({ query, range = "30d", timeZone }: LogHistogramProps) {
  const { interval } = RANGES[range];
  const { search: _, endDate: __, ...filters } = query;
  const asked = { ...filters, startDate: rangeStart(range, { now: Date.now(), timeZone }), groupBy: "status", interval };
  const { data } = useQuery({
    queryKey: ["usage", "histogram", JSON.stringify(asked)],
    queryFn: async ({ signal }) => (await get<{ data: UsageBucket[] }>("/api/gw/usage", asked, signal)).data,
  });
  if (!data) return <Skeleton height={140} mb="sm" />;
  const bars = new Map(
    bucketsOf(range, { now: Date.now(), timeZone }).map(({ key, label }) => [key, { label } as Record<string, string | number>]),
  );
  for (const { bucket, group, requests } of data) {
    const bar = bars.get(bucketKey(interval, Date.parse(bucket), timeZone));
    if (bar && group) bar[group] = Number(bar[group] ?? 0) + Number(requests);
  }
  return (
    <TimeChart
      kind="bar"
      isCount
      height={140}
      label={`Calls per ${interval} by status`}
      data={[...bars.values()]}
      series={LOG_STATES.map((state) => ({ name: state, label: state, color: COLORS[state] ?? "gray.6" }))}
      format={(value) => value.toLocaleString("en-US")}
    />
  );
}
