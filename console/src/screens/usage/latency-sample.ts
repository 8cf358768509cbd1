import { queryOptions } from "@tanstack/react-query";
import { get, type Query } from "../../api/client.ts";
import type { LogList } from "../../api/queries.ts";
import type { UsageLog } from "../../api/types.ts";
import { bucketKey } from "../../components/time-range.ts";
import { percentile } from "../../format/words.ts";
import type { UsageWindow } from "./usage-window.ts";

const PAGE_SIZE = 100;
const PAGES_MAX = 5;
export const SAMPLE_MAX = PAGE_SIZE * PAGES_MAX;

/** The newest calls of a span that succeeded: sums of calls have no percentiles, single calls do. */
export const latencyQuery = (query: Query) =>
  queryOptions({
    queryKey: ["usage", "latency", query],
    queryFn: async ({ signal }) => {
      const logs: UsageLog[] = [];
      let cursor: string | undefined;
      for (let page = 0; page < PAGES_MAX; page++) {
        const { data, meta } = await get<LogList>("/api/gw/logs", { ...query, status: "success", pageSize: PAGE_SIZE, cursor }, signal);
        logs.push(...data);
        if (meta.nextCursor === null) break;
        cursor = meta.nextCursor;
      }
      return logs;
    },
  });

/** The median of each bar; bars without a call are left out. */
export function medians(logs: readonly UsageLog[], { buckets, interval }: UsageWindow, timeZone: string) {
  const byBar = Map.groupBy(logs, ({ createdAt }) => bucketKey(interval, Date.parse(createdAt), timeZone));
  return buckets.map(({ key, label }) => {
    const numbers = (byBar.get(key) ?? []).map(({ latencyMs }) => latencyMs);
    const [median, slow] = [percentile(numbers, 0.5), percentile(numbers, 0.95)];
    return { label, ...(median === undefined || slow === undefined ? {} : { median, slow }) };
  });
}
