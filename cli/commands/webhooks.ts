import type { Command } from "commander";
import type { Io } from "../io.ts";
import { registerGroup } from "../operations/register.ts";
import { given, type OperationSpec, required, word } from "../operations/spec.ts";
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

const which = word("id", "which webhook");

const operations: readonly OperationSpec[] = [
  {
    name: "list",
    summary: "Addresses that are told of events",
    method: "GET",
    path: "/api/gw/webhooks",
    auth: "user",
    view: { kind: "list", columns, id: "id", empty: "No webhooks." },
  },
  {
    name: "create",
    summary: "Have an address told of events; the signing secret is shown once",
    method: "POST",
    path: "/api/gw/webhooks",
    auth: "user",
    fields: [
      given("--url <url>", "https address", "url", { ...required, question: "Address" }),
      given("--events <a,b>", "balance.low, balance.blocked, balance.unblocked, purchase.completed, key.created, key.removed", "events", {
        kind: "list",
        ...required,
      }),
    ],
    view: {
      kind: "record",
      fields: [{ title: "secret", at: "secret" }, ...columns.map((column) => ({ ...column, at: `webhook.${column.at}` }))],
      id: "webhook.id",
    },
    after: ({ print }) => print.note("The secret is shown this once and never again."),
  },
  {
    name: "remove",
    summary: "Remove a webhook; what was not sent yet is not sent",
    method: "DELETE",
    path: "/api/gw/webhooks/:id",
    auth: "user",
    fields: [which],
    confirm: "Remove the webhook {word}?",
    view: { kind: "sentence", text: (body) => `Removed ${String(valueAt(body, "id"))}.`, id: "id" },
  },
  {
    name: "test",
    summary: "Send a test message; `gw webhooks deliveries` shows what became of it",
    method: "POST",
    path: "/api/gw/webhooks/:id/test",
    auth: "user",
    fields: [which],
    view: { kind: "record", at: "delivery", fields: deliveryColumns, id: "delivery.id" },
  },
  {
    name: "deliveries",
    summary: "What was sent in the last 30 days, newest first",
    method: "GET",
    path: "/api/gw/webhooks/:id/deliveries",
    auth: "user",
    fields: [which],
    view: { kind: "list", columns: deliveryColumns, id: "id", empty: "Nothing sent yet." },
  },
];

export function registerWebhooks(program: Command, io: Io): void {
  registerGroup(program, io, { name: "webhooks", summary: "Addresses that are told of events", operations, alone: "list" });
}
