import type { Command } from "commander";
import type { Io } from "../io.ts";
import { registerGroup } from "../operations/register.ts";
import { argument, type OperationSpec, option, required } from "../operations/spec.ts";
import { type Column, valueAt } from "../output/values.ts";

const columns: readonly Column[] = [
  { title: "id", at: "id" },
  { title: "name", at: "name" },
  { title: "state", at: "state", as: "state" },
  { title: "metric", at: "metric" },
  { title: "errors %", at: "errorRatePercent" },
  { title: "p95", at: "latencyP95Ms", as: "ms" },
  { title: "spend", at: "spend", as: "usd" },
  { title: "value", at: "value" },
  { title: "since", at: "since", as: "time" },
  { title: "slack", at: "slackHost" },
];

const deliveryColumns: readonly Column[] = [
  { title: "id", at: "id" },
  { title: "type", at: "type" },
  { title: "receiver", at: "receiver" },
  { title: "status", at: "status", as: "state" },
  { title: "attempts", at: "attempts", as: "count" },
  { title: "error", at: "error" },
  { title: "created", at: "createdAt", as: "time" },
];

const which = argument("id", "alert ID");

const rule = [
  option("--error-rate <percent>", "fires at this percentage of failed calls", "errorRatePercent", { kind: "number" }),
  option("--latency-p95 <ms>", "fires at this 95th percentile of latency", "latencyP95Ms", { kind: "integer" }),
  option("--spend <usd>", "fires at this spend in a period, in USD", "spend", { kind: "usd" }),
  option("--window <minutes>", "window of error rate and latency, a multiple of 15", "windowMinutes", { kind: "integer" }),
  option("--period <period>", "period of spend (UTC)", "period", { choices: ["day", "month"] }),
  option("--min-requests <count>", "with fewer calls in the window it does not fire", "minRequests", { kind: "integer" }),
  option("--model <name>", "only calls of this model, or none for all", "model", { clears: true }),
  option("--team <id>", "only calls of this team, or none for all", "team_id", { clears: true }),
  option("--email <on>", "mail owners and admins: true or false", "email", { kind: "json" }),
  option("--slack-url <url>", "an incoming webhook in Slack's format; never shown again. none removes it", "slackUrl", { clears: true }),
];

const operations: readonly OperationSpec[] = [
  {
    name: "list",
    summary: "List alerts and their state",
    method: "GET",
    path: "/api/gw/alerts",
    auth: "user",
    view: { kind: "list", columns, id: "id", empty: "No alerts." },
  },
  {
    name: "create",
    summary: "Create an alert on error rate, latency or spend",
    method: "POST",
    path: "/api/gw/alerts",
    auth: "user",
    fields: [option("--name <name>", "name", "name", { ...required, question: "Name" }), ...rule],
    view: { kind: "record", at: "alert", fields: columns, id: "alert.id" },
  },
  {
    name: "update",
    summary: "Change an alert",
    method: "PATCH",
    path: "/api/gw/alerts/:id",
    auth: "user",
    fields: [which, option("--name <name>", "name", "name"), ...rule],
    view: { kind: "record", at: "alert", fields: columns, id: "alert.id" },
  },
  {
    name: "remove",
    summary: "Delete an alert",
    method: "DELETE",
    path: "/api/gw/alerts/:id",
    auth: "user",
    fields: [which],
    confirm: "Delete alert {args}?",
    view: { kind: "sentence", text: (body) => `Deleted ${String(valueAt(body, "id"))}.`, id: "id" },
  },
  {
    name: "test",
    summary: "Send a test message to every receiver. See the result with `gw alerts deliveries`",
    method: "POST",
    path: "/api/gw/alerts/:id/test",
    auth: "user",
    fields: [which],
    view: { kind: "sentence", text: (body) => `Sent to ${String(valueAt(body, "receivers"))} receivers.` },
  },
  {
    name: "deliveries",
    summary: "List mails and Slack messages of the last 30 days, newest first",
    method: "GET",
    path: "/api/gw/alerts/:id/deliveries",
    auth: "user",
    fields: [which],
    view: { kind: "list", columns: deliveryColumns, id: "id", empty: "No messages yet." },
  },
];

export function registerAlerts(program: Command, io: Io): void {
  registerGroup(program, io, { name: "alerts", summary: "Manage alerts", operations, default: "list" });
}
