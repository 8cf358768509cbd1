import type { Alert } from "../../api/types.ts";
import { nanoNumber, readUsd, usdOf } from "../../format/money.ts";

type Metric = Alert["metric"];

/** The values of the form of an alert. */
export interface AlertValues {
  name: string;
  metric: Metric;
  threshold: string;
  windowMinutes: string;
  minRequests: string;
  period: string;
  model: string;
  teamId: string;
  email: boolean;
  slackUrl: string;
  removesSlack: boolean;
}

const WINDOWS = [15, 30, 60, 180, 360, 720, 1440];
const REQUESTS_MAX = 1_000_000;

/** The windows to choose from, with that of the alert. */
export function windowsOf(alert: Pick<Alert, "windowMinutes"> | undefined): string[] {
  const minutes = new Set([...WINDOWS, ...(alert ? [alert.windowMinutes] : [])]);
  return [...minutes].sort((a, b) => a - b).map(String);
}

export function valuesOf(alert: Alert | undefined): AlertValues {
  return {
    name: alert?.name ?? "",
    metric: alert?.metric ?? "error_rate",
    threshold: alert ? thresholdText(alert) : "5",
    windowMinutes: String(alert?.windowMinutes ?? 15),
    minRequests: String(alert?.minRequests ?? 10),
    period: alert?.period ?? "day",
    model: alert?.model ?? "",
    teamId: alert?.team_id ?? "",
    email: alert?.email ?? true,
    slackUrl: "",
    removesSlack: false,
  };
}

function thresholdText({ errorRatePercent, latencyP95Ms, spend }: Alert): string {
  return spend === null ? String(errorRatePercent ?? latencyP95Ms ?? "") : usdOf(spend);
}

/** The threshold as the API's field; undefined if the text is not valid. */
export function thresholdOf(metric: Metric, text: string) {
  const usd = readUsd(text);
  if (usd === undefined) return undefined;
  switch (metric) {
    case "error_rate":
      return { errorRatePercent: Number(usd) };
    case "latency_p95":
      return { latencyP95Ms: Math.round(Number(usd)) };
    case "spend":
      return { spend: nanoNumber(usd) };
  }
}

export function isRequestCount(text: string): boolean {
  return /^\d+$/.test(text.trim()) && Number(text) >= 1 && Number(text) <= REQUESTS_MAX;
}

/** The body of a request; null clears what was set before. */
export function bodyOf(values: AlertValues, alert: Alert | undefined) {
  const { name, metric, threshold, windowMinutes, minRequests, period, email, slackUrl, removesSlack } = values;
  const orCleared = (text: string) => text.trim() || (alert ? null : undefined);
  return {
    name,
    ...thresholdOf(metric, threshold),
    ...(metric === "spend" ? { period } : { windowMinutes: Number(windowMinutes), minRequests: Number(minRequests) }),
    model: orCleared(values.model),
    team_id: orCleared(values.teamId),
    email,
    slackUrl: removesSlack ? null : slackUrl.trim() || undefined,
  };
}
