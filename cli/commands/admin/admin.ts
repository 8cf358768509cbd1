import type { Command } from "commander";
import type { Io } from "../../io.ts";
import { budgetFields, rateLimitFields } from "../../operations/limit-fields.ts";
import { registerGroup } from "../../operations/register.ts";
import { argument, filter, type Group, type OperationSpec, option } from "../../operations/spec.ts";
import type { View } from "../../output/printer.ts";
import { type Column, valueAt } from "../../output/values.ts";
import { teamView } from "../teams.ts";
import { registerAdminAudit } from "./admin-audit.ts";
import { adminModels, adminProviders } from "./admin-catalog.ts";
import { registerAdminCerts } from "./admin-certs.ts";
import { registerAdminCopies } from "./admin-copies.ts";
import { adminCache, adminRouting } from "./admin-gateway.ts";
import { adminGuardrails } from "./admin-guardrails.ts";
import { registerAdminLedger } from "./admin-ledger.ts";
import { adminOrganizations } from "./admin-organizations.ts";
import { registerAdminSystem } from "./admin-system.ts";

const userColumns: readonly Column[] = [
  { title: "id", at: "id" },
  { title: "email", at: "email" },
  { title: "name", at: "name" },
  { title: "role", at: "role" },
  { title: "status", at: "status", as: "state" },
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
const user = argument("id", "user ID");

const access = (name: "disable" | "enable", summary: string, confirm?: string): OperationSpec => ({
  name,
  summary,
  method: "POST",
  path: `/api/admin/users/:id/${name}`,
  auth: "user",
  fields: [user, option("--reason <text>", "reason for the audit log", "reason")],
  ...(confirm === undefined ? {} : { confirm }),
  view: userView,
});

const users: Group = {
  name: "users",
  summary: "Manage users",
  default: "list",
  operations: [
    {
      name: "list",
      summary: "Manage users",
      method: "GET",
      path: "/api/admin/users",
      auth: "user",
      fields: [filter("--search <text>", "search by name or email", "search")],
      view: { kind: "list", columns: userColumns, id: "id", empty: "No users found." },
    },
    { name: "get", summary: "Show a user", method: "GET", path: "/api/admin/users/:id", auth: "user", fields: [user], view: userView },
    {
      name: "update",
      summary: "Update a user's name, role, limits or budget; `none` removes a limit",
      method: "PATCH",
      path: "/api/admin/users/:id",
      auth: "user",
      fields: [
        user,
        option("--name <name>", "new name", "name"),
        option("--role <role>", "platform role", "role", { choices: ["user", "admin"] }),
        ...rateLimitFields,
        ...budgetFields,
      ],
      view: userView,
    },
    access(
      "disable",
      "Disable a user: sessions end, log-in and their API keys are refused. Credits and logs stay",
      "Disable user {args}? Their sessions end and their API keys are refused.",
    ),
    access("enable", "Enable a disabled user and their API keys"),
    {
      name: "reset-password",
      summary: "Mail a user the link that sets a new password, or print it where no mail is configured",
      method: "POST",
      path: "/api/admin/users/:id/password-reset",
      auth: "user",
      fields: [user],
      confirm: "Create a password reset link for user {args}? Make sure that the request is theirs.",
      view: {
        kind: "record",
        fields: [
          { title: "link", at: "resetUrl" },
          { title: "mailed", at: "mailed" },
          { title: "expires", at: "expiresAt", as: "time" },
        ],
        id: "resetUrl",
      },
    },
    {
      name: "delete",
      summary: "Delete a user and revoke their sessions and API keys",
      method: "DELETE",
      path: "/api/admin/users/:id",
      auth: "user",
      fields: [user],
      confirm: "Permanently delete user {args}?",
      view: { kind: "sentence", text: (body) => `Deleted user ${String(valueAt(body, "id"))}.`, id: "id" },
    },
    {
      name: "reset-totp",
      summary: "Turn a user's two-factor authentication off, if device and recovery codes are lost",
      method: "DELETE",
      path: "/api/admin/users/:id/totp",
      auth: "user",
      fields: [user],
      confirm: "Turn off two-factor authentication of user {args}? Make sure that the request is theirs.",
      view: { kind: "sentence", text: () => "Two-factor authentication is off." },
    },
  ],
};

const block = (name: "block" | "unblock", summary: string): OperationSpec => ({
  name,
  summary,
  method: "POST",
  path: `/api/admin/teams/:id/${name}`,
  auth: "user",
  fields: [argument("id", "team ID"), option("--reason <text>", "reason for the audit log", "reason")],
  view: teamView,
});

const teams: Group = {
  name: "teams",
  summary: "Block and unblock any team",
  operations: [block("block", "Block a team. A purchase does not lift the block"), block("unblock", "Unblock a team")],
};

export function registerAdmin(program: Command, io: Io): void {
  const admin = program
    .command("admin")
    .description(
      "Administration: users, organizations, models, providers, routing, guardrails, cache, audit, ledger, certificates, backups, system",
    );
  const groups = [users, adminOrganizations, teams, adminModels, adminProviders, adminRouting, adminGuardrails, adminCache];
  for (const group of groups) registerGroup(admin, io, group);
  registerAdminAudit(admin, io);
  registerAdminLedger(admin, io);
  registerAdminCerts(admin, io);
  registerAdminCopies(admin, io);
  registerAdminSystem(admin, io);
}
