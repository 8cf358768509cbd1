import { Skeleton } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { get, type Query } from "../../api/client.ts";
import type { UsageBucket } from "../../api/types.ts";
import { TimeChart } from "../../components/charts/time-chart.tsx";
import { bucketKey } from "../../components/time-range.ts";
import { asQuery, spanOfBuckets, usageWindow } from "../../components/usage-window.ts";
import { LOG_STATES, type LogFilter } from "./log-filter.ts";

const COLORS: Readonly<Record<string, string>> = { success: "teal.6", error: "red.6", cancelled: "gray.6", refused: "orange.6" };

interface LogHistogramProps {
  filter: LogFilter;
  query: Query;
  timeZone: string;
  onChange: (change: Record<string, string | undefined>) => void;
}

/**
 * Calls over time by status, for the filters of the log; without a chosen time, days of the last month. It is made of roll-ups, which know no text.
 * A bar leads to the calls of its time and status, a dragged range to those of the range.
 */
export function LogHistogram({ filter: { range = "30d", from, to }, query, timeZone, onChange }: LogHistogramProps) {
  const window = usageWindow({ range, from, to }, { now: Date.now(), timeZone });
  const { interval, buckets } = window;
  const { search: _, ...filters } = query;
  const asked = { ...filters, endDate: undefined, ...asQuery(window.span, timeZone), groupBy: "status", interval };
  const { data } = useQuery({
    queryKey: ["usage", "histogram", JSON.stringify(asked)],
    queryFn: async ({ signal }) => (await get<{ data: UsageBucket[] }>("/api/gw/usage", asked, signal)).data,
  });
  if (!data) return <Skeleton height={140} mb="sm" />;
  const bars = new Map(buckets.map(({ key, label }) => [key, { label } as Record<string, string | number>]));
  for (const { bucket, group, requests } of data) {
    const bar = bars.get(bucketKey(interval, Date.parse(bucket), timeZone));
    if (bar && group) bar[group] = Number(bar[group] ?? 0) + Number(requests);
  }
  const show = (first: number, last: number) => ({ ...spanOfBuckets(window, first, last), tz: timeZone, range: undefined });
  return (
    <TimeChart
      kind="bar"
      isCount
      height={140}
      label={`Calls per ${interval} by status`}
      data={[...bars.values()]}
      series={LOG_STATES.map((state) => ({ name: state, label: state, color: COLORS[state] ?? "gray.6" }))}
      format={(value) => value.toLocaleString("en-US")}
      onPick={(index, status) => onChange({ ...show(index, index), ...(status === undefined ? {} : { status }) })}
      onZoom={buckets.length > 1 ? (first, last) => onChange(show(first, last)) : undefined}
    />
  );
}
