import type { Command } from "commander";
import type { Io } from "../../io.ts";
import { budgetFields, rateLimitFields } from "../../operations/limit-fields.ts";
import { registerGroup, registerOperation } from "../../operations/register.ts";
import { filter, type Group, given, type OperationSpec, word } from "../../operations/spec.ts";
import type { View } from "../../output/printer.ts";
import { type Column, valueAt } from "../../output/values.ts";
import { teamView } from "../teams.ts";
import { adminModels, adminProviders } from "./admin-catalog.ts";
import { adminCache, adminGuardrails, adminRouting } from "./admin-gateway.ts";
import { registerAdminLedger } from "./admin-ledger.ts";
import { adminOrganizations } from "./admin-organizations.ts";
import { registerAdminSystem } from "./admin-system.ts";

const userColumns: readonly Column[] = [
  { title: "id", at: "id" },
  { title: "email", at: "email" },
  { title: "name", at: "name" },
  { title: "role", at: "role" },
  { title: "organization", at: "organizationId" },
  { title: "last login", at: "lastLoginAt", as: "time" },
];
const userView: View = {
  kind: "record",
  at: "user",
  fields: [
    ...userColumns,
    { title: "rpm", at: "rpm", as: "count" },
    { title: "tpm", at: "tpm", as: "count" },
    { title: "budget", at: "maxBudget", as: "usd" },
    { title: "created", at: "createdAt", as: "time" },
  ],
  id: "user.id",
};
const user = word("id", "which user");

const users: Group = {
  name: "users",
  summary: "All users",
  alone: "list",
  operations: [
    {
      name: "list",
      summary: "All users",
      method: "GET",
      path: "/api/admin/users",
      auth: "user",
      fields: [filter("--search <text>", "in names and addresses", "search")],
      view: { kind: "list", columns: userColumns, id: "id", empty: "No such user." },
    },
    { name: "get", summary: "One user", method: "GET", path: "/api/admin/users/:id", auth: "user", fields: [user], view: userView },
    {
      name: "update",
      summary: "Change a user's name, role, limits or budget; none takes a limit away",
      method: "PATCH",
      path: "/api/admin/users/:id",
      auth: "user",
      fields: [
        user,
        given("--name <name>", "new name", "name"),
        given("--role <role>", "on the platform", "role", { choices: ["user", "admin"] }),
        ...rateLimitFields,
        ...budgetFields,
      ],
      view: userView,
    },
    {
      name: "delete",
      summary: "Delete a user; sessions and keys of the user end",
      method: "DELETE",
      path: "/api/admin/users/:id",
      auth: "user",
      fields: [user],
      confirm: "Delete user {word} for good?",
      view: { kind: "sentence", text: (body) => `Deleted user ${String(valueAt(body, "id"))}.`, id: "id" },
    },
  ],
};

const block = (name: "block" | "unblock", summary: string): OperationSpec => ({
  name,
  summary,
  method: "POST",
  path: `/api/admin/teams/:id/${name}`,
  auth: "user",
  fields: [word("id", "which team"), given("--reason <text>", "why", "reason")],
  view: teamView,
});

const teams: Group = {
  name: "teams",
  summary: "Block and unblock any team",
  operations: [block("block", "Block a team; no purchase lifts it"), block("unblock", "Lift the block of a team")],
};

const audit: OperationSpec = {
  name: "audit",
  summary: "Who changed what, newest first",
  method: "GET",
  path: "/api/admin/audit",
  auth: "user",
  fields: [filter("--action <action>", "such as key.create", "action"), filter("--org <id>", "of this organisation", "organizationId")],
  view: {
    kind: "list",
    columns: [
      { title: "at", at: "at", as: "time" },
      { title: "actor", at: "actorId" },
      { title: "action", at: "action" },
      { title: "target", at: "target" },
      { title: "organization", at: "organizationId" },
    ],
    id: "seq",
    empty: "Nothing changed yet.",
  },
};

export function registerAdmin(program: Command, io: Io): void {
  const admin = program
    .command("admin")
    .description("For administrators: users, organisations, models, providers, routing, guardrails, cache, audit, ledger, system");
  for (const group of [users, adminOrganizations, teams, adminModels, adminProviders, adminCache]) registerGroup(admin, io, group);
  for (const operation of [adminRouting, adminGuardrails, audit]) registerOperation(admin, io, operation);
  registerAdminLedger(admin, io);
  registerAdminSystem(admin, io);
}
