import { budgetFields, rateLimitFields } from "../../operations/limit-fields.ts";
import { filter, type Group, given, type OperationSpec, word } from "../../operations/spec.ts";
import { organizationView } from "../organizations.ts";

const organization = word("id", "which organisation");

const block = (name: "block" | "unblock", summary: string): OperationSpec => ({
  name,
  summary,
  method: "POST",
  path: `/api/admin/organizations/:id/${name}`,
  auth: "user",
  fields: [organization, given("--reason <text>", "why", "reason")],
  view: organizationView,
});

export const adminOrganizations: Group = {
  name: "orgs",
  summary: "All organisations: balances, limits, credits, blocks",
  alone: "list",
  operations: [
    {
      name: "list",
      summary: "All organisations",
      method: "GET",
      path: "/api/admin/organizations",
      auth: "user",
      fields: [filter("--search <text>", "in names and ids", "search")],
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
        empty: "No such organisation.",
      },
    },
    block("block", "Block all teams of an organisation; no purchase lifts it"),
    block("unblock", "Lift the block of an organisation"),
    {
      name: "limits",
      summary: "Change rate limits or budget; none takes one away",
      method: "PATCH",
      path: "/api/admin/organizations/:id",
      auth: "user",
      fields: [organization, ...rateLimitFields, ...budgetFields],
      view: organizationView,
    },
    {
      name: "grant",
      summary: "Grant credits, or take some back with a negative amount",
      method: "POST",
      path: "/api/admin/organizations/:id/credits",
      auth: "user",
      fields: [
        organization,
        given("--usd <amount>", "how much, in USD", "amountUsd"),
        given("--nano <amount>", "how much, in nano-USD", "amount", { kind: "integer" }),
        given("--reference <text>", "why", "reference"),
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
