import type { Command } from "commander";
import { WEBHOOK_EVENTS } from "../../common/webhook-events.ts";
import type { Io } from "../io.ts";
import { registerGroup } from "../operations/register.ts";
import { argument, type OperationSpec, option, required } from "../operations/spec.ts";
import { type Column, valueAt } from "../output/values.ts";

const columns: readonly Column[] = [
  { title: "id", at: "id" },
  { title: "url", at: "url" },
  { title: "events", at: "events", as: "list" },
  { title: "created", at: "createdAt", as: "time" },
];

const deliveryColumns: readonly Column[] = [
  { title: "id", at: "id" },
  { title: "type", at: "type" },
  { title: "status", at: "status", as: "state" },
  { title: "attempts", at: "attempts", as: "count" },
  { title: "http", at: "httpStatus" },
  { title: "error", at: "error" },
  { title: "created", at: "createdAt", as: "time" },
];

const which = argument("id", "webhook ID");

const operations: readonly OperationSpec[] = [
  {
    name: "list",
    summary: "List webhooks",
    method: "GET",
    path: "/api/gw/webhooks",
    auth: "user",
    view: { kind: "list", columns, id: "id", empty: "No webhooks." },
  },
  {
    name: "create",
    summary: "Create a webhook. The signing secret is shown once",
    method: "POST",
    path: "/api/gw/webhooks",
    auth: "user",
    fields: [
      option("--url <url>", "HTTPS URL", "url", { ...required, question: "URL" }),
      option("--events <a,b>", `events: ${WEBHOOK_EVENTS.join(", ")}`, "events", { kind: "list", ...required }),
    ],
    view: {
      kind: "record",
      fields: [{ title: "secret", at: "secret" }, ...columns.map((column) => ({ ...column, at: `webhook.${column.at}` }))],
      id: "webhook.id",
    },
    after: ({ print }) => print.note("Save the secret now. It will not be shown again."),
  },
  {
    name: "remove",
    summary: "Delete a webhook and its pending deliveries",
    method: "DELETE",
    path: "/api/gw/webhooks/:id",
    auth: "user",
    fields: [which],
    confirm: "Delete webhook {args}?",
    view: { kind: "sentence", text: (body) => `Deleted ${String(valueAt(body, "id"))}.`, id: "id" },
  },
  {
    name: "test",
    summary: "Send a test event. See the result with `gw webhooks deliveries`",
    method: "POST",
    path: "/api/gw/webhooks/:id/test",
    auth: "user",
    fields: [which],
    view: { kind: "record", at: "delivery", fields: deliveryColumns, id: "delivery.id" },
  },
  {
    name: "deliveries",
    summary: "List deliveries of the last 30 days, newest first",
    method: "GET",
    path: "/api/gw/webhooks/:id/deliveries",
    auth: "user",
    fields: [which],
    view: { kind: "list", columns: deliveryColumns, id: "id", empty: "No deliveries yet." },
  },
];

export function registerWebhooks(program: Command, io: Io): void {
  registerGroup(program, io, { name: "webhooks", summary: "Manage webhooks", operations, default: "list" });
}
