import type { Command } from "commander";
import type { Context } from "../context.ts";
import type { Io } from "../io.ts";
import { budgetFields, modelsField, rateLimitFields } from "../operations/limit-fields.ts";
import { registerGroup } from "../operations/register.ts";
import { argument, filter, type OperationSpec, option, required } from "../operations/spec.ts";
import type { View } from "../output/printer.ts";
import { type Column, valueAt } from "../output/values.ts";
import { keyColumns } from "./keys.ts";

const columns: readonly Column[] = [
  { title: "id", at: "id" },
  { title: "name", at: "name" },
  { title: "status", at: "status", as: "state" },
  { title: "members", at: "memberCount", as: "count" },
  { title: "keys", at: "keyCount", as: "count" },
  { title: "spend (30d)", at: "spend", as: "usd" },
];

const memberColumns: readonly Column[] = [
  { title: "member", at: "memberId" },
  { title: "email", at: "email" },
  { title: "name", at: "name" },
  { title: "role", at: "role" },
  { title: "status", at: "status", as: "state" },
];

export const teamView: View = {
  kind: "record",
  at: "team",
  fields: [
    ...columns,
    { title: "blocked by", at: "blockedReason" },
    { title: "models", at: "models", as: "list" },
    { title: "rpm", at: "rpm", as: "count" },
    { title: "tpm", at: "tpm", as: "count" },
    { title: "budget", at: "maxBudget", as: "usd" },
    { title: "created", at: "createdAt", as: "time" },
  ],
  id: "team.id",
};

const team = option("--team <id>", "team ID", "teamId", { ...required, question: "Team" });

const operations: readonly OperationSpec[] = [
  {
    name: "list",
    summary: "List teams of the active organization",
    method: "GET",
    path: "/api/gw/teams",
    auth: "user",
    fields: [filter("--search <text>", "search by name", "search")],
    view: { kind: "list", columns, id: "id", empty: "No teams found. Create one with `gw teams create --name Research`." },
  },
  {
    name: "create",
    summary: "Create a team",
    method: "POST",
    path: "/api/gw/teams",
    auth: "user",
    fields: [option("--name <name>", "team name", "name", { ...required, question: "Team name" })],
    view: teamView,
  },
  {
    name: "get",
    summary: "Show a team with its members and keys",
    method: "GET",
    path: "/api/gw/teams/:id",
    auth: "user",
    fields: [argument("id", "team ID")],
    view: teamView,
    after: (context, answer) => showParts(context, answer.body),
  },
  {
    name: "update",
    summary: "Update a team's name or limits; `none` removes a limit",
    method: "PATCH",
    path: "/api/gw/teams/:id",
    auth: "user",
    fields: [argument("id", "team ID"), option("--name <name>", "new name", "name"), modelsField, ...rateLimitFields, ...budgetFields],
    view: teamView,
  },
  {
    name: "delete",
    summary: "Delete a team with its keys, members and stored objects. Its calls stay in the logs",
    method: "DELETE",
    path: "/api/gw/teams/:id",
    auth: "user",
    fields: [argument("id", "team ID")],
    confirm: "Permanently delete team {args} and revoke its keys?",
    view: { kind: "sentence", text: deletedText, id: "id" },
  },
  {
    name: "invite",
    summary: "Invite an email and print the link. Members of the organization join immediately",
    method: "POST",
    path: "/api/gw/teams/invite-member",
    auth: "user",
    fields: [
      team,
      option("--email <email>", "email to invite", "email", { ...required, question: "Email" }),
      option("--role <role>", "team role", "role", { choices: ["member", "admin", "owner"] }),
    ],
    view: {
      kind: "record",
      fields: [
        ...memberColumns.map((column) => ({ ...column, at: `member.${column.at}` })),
        { title: "link", at: "inviteUrl" },
        { title: "expires", at: "expiresAt", as: "time" },
      ],
      id: "member.memberId",
    },
  },
  {
    name: "update-member",
    summary: "Change the role of a member or an invitation",
    method: "POST",
    path: "/api/gw/teams/update-member",
    auth: "user",
    fields: [
      team,
      option("--member <id>", "member ID, as shown by `gw teams get`", "memberId", { ...required, question: "Member" }),
      option("--role <role>", "team role", "role", { choices: ["member", "admin", "owner"], ...required }),
    ],
    view: { kind: "record", at: "member", fields: memberColumns, id: "member.memberId" },
  },
  {
    name: "remove-member",
    summary: "Remove a member and disable the keys they created, or cancel an invitation",
    method: "POST",
    path: "/api/gw/teams/remove-member",
    auth: "user",
    fields: [team, option("--member <id>", "member ID, as shown by `gw teams get`", "memberId", { ...required, question: "Member" })],
    confirm: "Remove this member from the team?",
    view: { kind: "sentence", text: removedText, id: "memberId" },
  },
];

function deletedText(body: unknown): string {
  const keys = (valueAt(body, "revokedKeys") as string[] | undefined) ?? [];
  return `Deleted ${String(valueAt(body, "id"))}.${keys.length === 0 ? "" : ` Revoked keys: ${keys.join(", ")}.`}`;
}

function removedText(body: unknown): string {
  const removed = `Removed ${String(valueAt(body, "memberId"))}.`;
  const keys = (valueAt(body, "disabledKeys") as string[] | undefined) ?? [];
  return keys.length === 0 ? removed : `${removed} Disabled keys: ${keys.join(", ")}.`;
}

export function registerTeams(program: Command, io: Io): void {
  registerGroup(program, io, { name: "teams", summary: "Manage teams and members", operations, default: "list" });
}

function showParts({ print }: Context, body: unknown): void {
  if (print.json || print.quiet) return;
  for (const [at, columns] of [["members", memberColumns] as const, ["apiKeys", keyColumns] as const]) {
    const rows = (valueAt(body, `team.${at}`) as unknown[] | undefined) ?? [];
    if (rows.length > 0) print.table(columns, rows);
  }
}
