import { type RangeName, readRange } from "../../components/time-range.ts";
import { GROUPS, type GroupName, METRICS, type MetricName } from "./metrics.ts";

export interface UsageAddress {
  readonly range: RangeName;
  readonly from: string | undefined;
  readonly to: string | undefined;
  readonly timeZone: string | undefined;
  readonly group: GroupName;
  readonly metric: MetricName | "latency";
  readonly isCompared: boolean;
}

/** Reads the view settings from the URL; missing or invalid values get defaults. */
export function readUsageAddress(address: Readonly<Record<string, unknown>>): UsageAddress {
  const text = (name: string) => (address[name] === undefined ? undefined : String(address[name]));
  const [by = "", metric = ""] = [text("by"), text("metric")];
  return {
    range: readRange(address.range ?? "7d"),
    from: text("from"),
    to: text("to"),
    timeZone: text("tz"),
    group: Object.hasOwn(GROUPS, by) ? (by as GroupName) : "model",
    metric: metric === "latency" || Object.hasOwn(METRICS, metric) ? (metric as MetricName | "latency") : "cost",
    isCompared: address.compare === "on",
  };
}
