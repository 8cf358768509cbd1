import type { Alert } from "../../api/types.ts";
import { formatUsd, usdOf } from "../../format/money.ts";

type Rule = Pick<Alert, "metric" | "errorRatePercent" | "latencyP95Ms" | "spend" | "windowMinutes" | "period" | "model">;

/** The rule of an alert as a phrase. */
export function ruleText(rule: Rule): string {
  const of = rule.model === null ? "" : ` of ${rule.model}`;
  const window = `in ${rule.windowMinutes} minutes`;
  switch (rule.metric) {
    case "error_rate":
      return `Error rate${of} ${window} at least ${rule.errorRatePercent} %`;
    case "latency_p95":
      return `95th percentile of latency${of} ${window} at least ${rule.latencyP95Ms} ms`;
    case "spend":
      return `Spend${of} in a ${rule.period} (UTC) at least ${formatUsd(usdOf(rule.spend ?? 0))}`;
  }
}

/** Its last value. */
export function valueText({ metric, value }: Pick<Alert, "metric" | "value">): string {
  if (value === null) return "No value yet or too few calls";
  if (metric === "spend") return `Last value ${formatUsd(usdOf(value))}`;
  return `Last value ${value} ${metric === "error_rate" ? "%" : "ms"}`;
}
