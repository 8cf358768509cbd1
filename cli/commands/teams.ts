import type { Command } from "commander";
import type { Context } from "../context.ts";
import type { Io } from "../io.ts";
import { budgetFields, modelsField, rateLimitFields } from "../operations/limit-fields.ts";
import { registerGroup } from "../operations/register.ts";
import { filter, given, type OperationSpec, required, word } from "../operations/spec.ts";
import type { View } from "../output/printer.ts";
import { table } from "../output/table.ts";
import { type Column, valueAt } from "../output/values.ts";
import { keyColumns } from "./keys.ts";

const columns: readonly Column[] = [
  { title: "id", at: "id" },
  { title: "name", at: "name" },
  { title: "status", at: "status", as: "state" },
  { title: "members", at: "memberCount", as: "count" },
  { title: "keys", at: "keyCount", as: "count" },
  { title: "30 days", at: "spend", as: "usd" },
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
    { title: "blocked for", at: "blockedReason" },
    { title: "models", at: "models", as: "list" },
    { title: "rpm", at: "rpm", as: "count" },
    { title: "tpm", at: "tpm", as: "count" },
    { title: "budget", at: "maxBudget", as: "usd" },
    { title: "created", at: "createdAt", as: "time" },
  ],
  id: "team.id",
};

const team = given("--team <id>", "which team", "teamId", { ...required, question: "Team" });

const operations: readonly OperationSpec[] = [
  {
    name: "list",
    summary: "Teams of the active organisation",
    method: "GET",
    path: "/api/gw/teams",
    auth: "user",
    fields: [filter("--search <text>", "in names", "search")],
    view: { kind: "list", columns, id: "id", empty: "No such team. `gw teams create --name Research` makes one." },
  },
  {
    name: "create",
    summary: "Make a team",
    method: "POST",
    path: "/api/gw/teams",
    auth: "user",
    fields: [given("--name <name>", "what it is called", "name", { ...required, question: "Name of the team" })],
    view: teamView,
  },
  {
    name: "get",
    summary: "One team with its members and keys",
    method: "GET",
    path: "/api/gw/teams/:id",
    auth: "user",
    fields: [word("id", "which team")],
    view: teamView,
    after: (context, answer) => showParts(context, answer.body),
  },
  {
    name: "update",
    summary: "Change a team's name or limits; none takes a limit away",
    method: "PATCH",
    path: "/api/gw/teams/:id",
    auth: "user",
    fields: [word("id", "which team"), given("--name <name>", "new name", "name"), modelsField, ...rateLimitFields, ...budgetFields],
    view: teamView,
  },
  {
    name: "invite",
    summary: "Invite an address and print the link; a member of the organization joins at once",
    method: "POST",
    path: "/api/gw/teams/invite-member",
    auth: "user",
    fields: [
      team,
      given("--email <email>", "whom", "email", { ...required, question: "E-mail" }),
      given("--role <role>", "what they may do", "role", { choices: ["member", "admin", "owner"] }),
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
    summary: "Give a member or an invitation another role",
    method: "POST",
    path: "/api/gw/teams/update-member",
    auth: "user",
    fields: [
      team,
      given("--member <id>", "whom: the member id that `gw teams get` shows", "memberId", { ...required, question: "Member" }),
      given("--role <role>", "what they may do", "role", { choices: ["member", "admin", "owner"], ...required }),
    ],
    view: { kind: "record", at: "member", fields: memberColumns, id: "member.memberId" },
  },
  {
    name: "remove-member",
    summary: "Take a person out of a team, with the keys they made there, or an invitation back",
    method: "POST",
    path: "/api/gw/teams/remove-member",
    auth: "user",
    fields: [
      team,
      given("--member <id>", "whom: the member id that `gw teams get` shows", "memberId", { ...required, question: "Member" }),
    ],
    confirm: "Take this member out of the team?",
    view: { kind: "sentence", text: removedText, id: "memberId" },
  },
];

function removedText(body: unknown): string {
  const removed = `Removed ${String(valueAt(body, "memberId"))}.`;
  const keys = (valueAt(body, "disabledKeys") as string[] | undefined) ?? [];
  return keys.length === 0 ? removed : `${removed} Keys that stopped working: ${keys.join(", ")}.`;
}

export function registerTeams(program: Command, io: Io): void {
  registerGroup(program, io, { name: "teams", summary: "Teams and their members", operations, alone: "list" });
}

function showParts({ print, io }: Context, body: unknown): void {
  if (print.json || print.quiet) return;
  for (const [at, columns] of [["members", memberColumns] as const, ["apiKeys", keyColumns] as const]) {
    const rows = (valueAt(body, `team.${at}`) as unknown[] | undefined) ?? [];
    if (rows.length === 0) continue;
    print.text(`\n${table({ columns, rows, paint: print.paint, width: io.stdout.isTerminal ? io.stdout.columns : undefined })}`);
  }
}
