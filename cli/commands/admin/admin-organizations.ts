import { budgetFields, rateLimitFields } from "../../operations/limit-fields.ts";
import { argument, filter, type Group, type OperationSpec, option } from "../../operations/spec.ts";
import { organizationView } from "../organizations.ts";

const organization = argument("id", "organization ID");

const block = (name: "block" | "unblock", summary: string): OperationSpec => ({
  name,
  summary,
  method: "POST",
  path: `/api/admin/organizations/:id/${name}`,
  auth: "user",
  fields: [organization, option("--reason <text>", "reason for the audit log", "reason")],
  view: organizationView,
});

export const adminOrganizations: Group = {
  name: "orgs",
  summary: "Manage organizations: balances, limits, credits, blocks",
  default: "list",
  operations: [
    {
      name: "list",
      summary: "List all organizations",
      method: "GET",
      path: "/api/admin/organizations",
      auth: "user",
      fields: [filter("--search <text>", "search by name or ID", "search")],
      view: {
        kind: "list",
        columns: [
          { title: "id", at: "id" },
          { title: "name", at: "name" },
          { title: "balance", at: "balance", as: "usd" },
          { title: "status", at: "status", as: "state" },
          { title: "blocked by", at: "blockedReason" },
          { title: "members", at: "memberCount", as: "count" },
          { title: "teams", at: "teamCount", as: "count" },
        ],
        id: "id",
        empty: "No organizations found.",
      },
    },
    block("block", "Block all teams of an organization. A purchase does not lift the block"),
    block("unblock", "Unblock an organization"),
    {
      name: "limits",
      summary: "Update name, rate limits or budget; `none` removes a limit",
      method: "PATCH",
      path: "/api/admin/organizations/:id",
      auth: "user",
      fields: [organization, option("--name <name>", "new name", "name"), ...rateLimitFields, ...budgetFields],
      view: organizationView,
    },
    {
      name: "grant",
      summary: "Grant credits; a negative amount takes credits back",
      method: "POST",
      path: "/api/admin/organizations/:id/credits",
      auth: "user",
      fields: [
        organization,
        option("--usd <amount>", "amount in USD", "amountUsd"),
        option("--nano <amount>", "amount in nano-USD", "amount", { kind: "integer" }),
        option("--reference <text>", "reference for the ledger entry", "reference"),
      ],
      view: {
        kind: "record",
        fields: [
          { title: "entry", at: "entry.seq" },
          { title: "type", at: "entry.type" },
          { title: "amount", at: "entry.amount", as: "usd" },
          { title: "balance", at: "balance", as: "usd" },
        ],
        id: "entry.seq",
      },
    },
  ],
};
