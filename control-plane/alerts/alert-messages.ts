import { toJson } from "../../common/json.ts";
import { toUsdString } from "../../common/money.ts";
import type { AlertRecord } from "../domain/alerts.ts";
import type { AlertMessageType } from "../domain/webhook-records.ts";

/** The data of the webhook event; amounts in the unit of the metric. */
export function alertData(alert: AlertRecord): string {
  const { organizationId, id, name, metric, windowMinutes, period, model, teamId, state, since } = alert;
  return toJson({
    organizationId,
    alertId: id,
    name,
    metric,
    state,
    since: new Date(since).toISOString(),
    threshold: inUnit(metric, alert.threshold),
    value: alert.value === undefined ? null : inUnit(metric, alert.value),
    ...(metric === "spend" ? { period } : { windowMinutes }),
    model: model ?? null,
    teamId: teamId ?? null,
  });
}

export function alertSubject(type: AlertMessageType, { name }: AlertRecord, organization: string): string {
  switch (type) {
    case "alert.firing":
      return `Alert firing: ${name} (${organization})`;
    case "alert.resolved":
      return `Alert resolved: ${name} (${organization})`;
    case "alert.test":
      return `Test of the alert ${name} (${organization})`;
  }
}

/** A sentence for people. */
export function alertText(type: AlertMessageType, alert: AlertRecord): string {
  const { metric, threshold, value } = alert;
  const current = value === undefined ? "There are too few calls to judge." : `It is ${shown(metric, value)} now.`;
  const of = [
    alert.model === undefined ? "" : ` of calls to ${alert.model}`,
    alert.teamId === undefined ? "" : ` of the team ${alert.teamId}`,
  ];
  const rule = `${WATCHED[metric]}${of.join("")} ${windowText(alert)}, threshold ${shown(metric, threshold)}`;
  if (type === "alert.test") return `This is a test of the rule: ${rule}. ${current}`;
  return `${rule}. ${current}`;
}

/** A message in the format of Slack's incoming webhooks. */
export function slackBody(subject: string, text: string): string {
  return JSON.stringify({ text: `*${escaped(subject)}*\n${escaped(text)}` });
}

const WATCHED: Readonly<Record<AlertRecord["metric"], string>> = {
  error_rate: "Error rate",
  latency_p95: "95th percentile of latency",
  spend: "Spend",
};

function windowText({ metric, windowMinutes, period }: AlertRecord): string {
  return metric === "spend" ? `of this ${period} (UTC)` : `in the last ${windowMinutes} minutes`;
}

function inUnit(metric: AlertRecord["metric"], value: bigint): number | bigint {
  return metric === "error_rate" ? Number(value) / 100 : value;
}

function shown(metric: AlertRecord["metric"], value: bigint): string {
  switch (metric) {
    case "error_rate":
      return `${Number(value) / 100} %`;
    case "latency_p95":
      return `${value} ms`;
    case "spend":
      return `${toUsdString(value)} USD`;
  }
}

/** The three characters that Slack reads as markup, so that a name cannot mention a channel or hide a link. */
function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
