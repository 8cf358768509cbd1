import type { Alert } from "../../api/types.ts";
import { formatUsd, usdOf } from "../../format/money.ts";
import { count } from "../../format/text.ts";

type Rule = Pick<
  Alert,
  "metric" | "errorRatePercent" | "latencyP95Ms" | "spend" | "windowMinutes" | "minRequests" | "period" | "model" | "team_id"
>;

/** The rule of an alert as a phrase, with the name of its team if it is known. */
export function ruleText(rule: Rule, teamName?: string): string {
  const of = `${rule.model === null ? "" : ` of ${rule.model}`}${rule.team_id === null ? "" : ` of team ${teamName ?? rule.team_id}`}`;
  const window = `in ${rule.windowMinutes} minutes with ${count(rule.minRequests, "call")} or more`;
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
