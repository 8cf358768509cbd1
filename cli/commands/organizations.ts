import type { Command } from "commander";
import type { Io } from "../io.ts";
import { budgetFields, contentFields } from "../operations/limit-fields.ts";
import { registerGroup } from "../operations/register.ts";
import { type OperationSpec, option, required } from "../operations/spec.ts";
import type { View } from "../output/printer.ts";
import type { Column } from "../output/values.ts";
import { addJsonLines, auditFilters, auditView } from "./audit-log.ts";

const columns: readonly Column[] = [
  { title: "id", at: "id" },
  { title: "name", at: "name" },
  { title: "role", at: "role" },
  { title: "active", at: "isActive", as: "yesno" },
  { title: "balance", at: "balance", as: "usd" },
  { title: "status", at: "status", as: "state" },
  { title: "teams", at: "teamCount", as: "count" },
  { title: "members", at: "memberCount", as: "count" },
];

export const organizationView: View = {
  kind: "record",
  at: "organization",
  fields: [
    ...columns,
    { title: "blocked by", at: "blockedReason" },
    { title: "reason", at: "blockNote" },
    { title: "time zone", at: "timezone" },
    { title: "low balance at", at: "lowBalanceThreshold", as: "usd" },
    { title: "budget", at: "maxBudget", as: "usd" },
    { title: "stores prompts", at: "logContent", as: "yesno" },
    { title: "for days", at: "logContentDays", as: "count" },
    { title: "semantic cache", at: "semanticCache.enabled", as: "yesno" },
    { title: "threshold", at: "semanticCache.threshold" },
    { title: "created", at: "createdAt", as: "time" },
  ],
  id: "organization.id",
};

const operations: readonly OperationSpec[] = [
  {
    name: "list",
    summary: "List your organizations",
    method: "GET",
    path: "/api/gw/organizations/list",
    auth: "user",
    view: { kind: "list", columns, id: "id" },
  },
  {
    name: "update",
    summary: "Update the active organization, or the one given by --id",
    method: "PUT",
    path: "/api/gw/organizations",
    auth: "user",
    fields: [
      option("--id <id>", "organization ID", "id"),
      option("--name <name>", "new name", "name"),
      option("--timezone <zone>", "time zone, such as Europe/Berlin", "timezone"),
      option("--low-balance <usd>", "send an email and a webhook event below this balance, or none", "lowBalanceThreshold", {
        kind: "usd",
        clears: true,
      }),
      ...budgetFields,
      ...contentFields,
      option(
        "--semantic-cache <json>",
        'answer similar texts from the cache: {"enabled": true, "threshold": 0.95}, or none',
        "semanticCache",
        {
          kind: "json",
          clears: true,
        },
      ),
    ],
    view: organizationView,
  },
  {
    name: "storage",
    summary: "Show the bytes of files and blobs of the active organization, and their limits",
    method: "GET",
    path: "/api/gw/storage",
    auth: "user",
    view: {
      kind: "record",
      at: "storage",
      fields: [
        { title: "files, bytes", at: "files.used", as: "count" },
        { title: "limit", at: "files.limit", as: "count" },
        { title: "blobs, bytes", at: "blobs.used", as: "count" },
        { title: "limit", at: "blobs.limit", as: "count" },
        { title: "places", at: "blobs.places", as: "list" },
      ],
      id: "storage.files.used",
    },
  },
  {
    name: "use",
    summary: "Switch to an organization",
    method: "PUT",
    path: "/api/gw/organizations",
    auth: "user",
    fields: [{ ...option("<id>", "organization ID", "id"), ...required }],
    before: async (_context, values) => {
      values.body["active"] = true;
    },
    view: organizationView,
  },
];

const audit: OperationSpec = {
  name: "audit",
  summary: "Show the audit log of the active organization, newest first",
  method: "GET",
  path: "/api/gw/organizations/audit",
  auth: "user",
  fields: auditFilters,
  view: auditView,
};

export function registerOrganizations(program: Command, io: Io): void {
  const group = { name: "orgs", summary: "Manage organizations", operations: [...operations, audit], default: "list" };
  addJsonLines(registerGroup(program, io, group), io, audit);
}
