import type { Command } from "commander";
import type { Context } from "../context.ts";
import type { ApiAnswer } from "../http/client.ts";
import type { Io } from "../io.ts";
import { budgetFields, keyContentFields, modelsField, rateLimitFields } from "../operations/limit-fields.ts";
import { registerGroup } from "../operations/register.ts";
import { type CommandInput, type Field, filter, type OperationSpec, option, required } from "../operations/spec.ts";
import type { View } from "../output/printer.ts";
import { type Column, valueAt } from "../output/values.ts";
import { chooseTeam } from "./choose-team.ts";

export const keyColumns: readonly Column[] = [
  { title: "id", at: "id" },
  { title: "name", at: "name" },
  { title: "key", at: "maskedKey" },
  { title: "team", at: "teamName" },
  { title: "status", at: "status", as: "state" },
  { title: "spend", at: "spend", as: "usd" },
  { title: "last used", at: "lastUsedAt", as: "time" },
];

const keyFields: readonly Column[] = [
  ...keyColumns,
  { title: "models", at: "models", as: "list" },
  { title: "rpm", at: "rpm", as: "count" },
  { title: "tpm", at: "tpm", as: "count" },
  { title: "parallel", at: "maxParallelRequests", as: "count" },
  { title: "budget", at: "maxBudget", as: "usd" },
  { title: "expires", at: "expiresAt", as: "time" },
  { title: "stores prompts", at: "logContent", as: "yesno" },
];

const one: View = { kind: "record", at: "apiKey", fields: keyFields, id: "apiKey.id" };
/** The secret appears only in this response. */
const withSecret: View = {
  kind: "record",
  fields: [{ title: "secret", at: "key" }, ...keyFields.map((field) => ({ ...field, at: `apiKey.${field.at}` }))],
  id: "key",
};

const limits: readonly Field[] = [
  option("--scopes <a,b>", "inference, train, or none for both", "scopes", { kind: "list", clears: true }),
  modelsField,
  ...rateLimitFields,
  ...budgetFields,
  option("--expires-at <time>", "expiry time, or none", "expiresAt", { kind: "time", clears: true }),
  ...keyContentFields,
];
const which = (to: string): Field => ({ ...option("<key>", "key ID, key hash or the key itself", to), required: true });

const operations: readonly OperationSpec[] = [
  {
    name: "list",
    summary: "List API keys of the organization",
    method: "GET",
    path: "/api/api-keys",
    auth: "user",
    fields: [
      filter("--team <id>", "filter by team", "team_id"),
      filter("--search <text>", "search by name", "search"),
      filter("--status <status>", "filter by status: active, blocked or expired", "status"),
    ],
    view: { kind: "list", columns: keyColumns, id: "id", empty: "No API keys. Create one with `gw keys create --name laptop`." },
  },
  {
    name: "create",
    summary: "Create an API key. The secret is shown once",
    method: "POST",
    path: "/api/gw/api-keys",
    auth: "user",
    fields: [
      option("--name <name>", "key name", "name", { ...required, question: "Key name" }),
      option("--team <id>", "name or ID of the team, required with several teams", "team_id"),
      ...limits,
    ],
    view: withSecret,
    before: chooseTeam,
    after: afterSecret,
  },
  {
    name: "update",
    summary: "Update a key's name or limits; `none` removes a limit",
    method: "POST",
    path: "/api/api-keys/update",
    auth: "user",
    fields: [which("token"), option("--name <name>", "new name", "name"), ...limits],
    view: one,
  },
  {
    name: "rename",
    summary: "Rename a key",
    method: "POST",
    path: "/api/api-keys/update",
    auth: "user",
    fields: [which("token"), { ...option("<name>", "new name", "name"), required: true }],
    view: one,
  },
  {
    name: "remove",
    summary: "Revoke a key. Calls with it are rejected within a second",
    method: "POST",
    path: "/api/api-keys/remove",
    auth: "user",
    fields: [which("apiKey")],
    confirm: "Permanently revoke {args}?",
    view: { kind: "sentence", text: (body) => `Revoked ${String(valueAt(body, "apiKey.name"))}.`, id: "apiKey.id" },
  },
  {
    name: "transfer",
    summary: "Move a key to another team of its organization",
    method: "POST",
    path: "/api/api-keys/transfer",
    auth: "user",
    fields: [which("apiKey"), option("--team <id>", "name or ID of the new team", "team_id", required)],
    view: one,
    before: chooseTeam,
  },
  {
    name: "rotate",
    summary: "Rotate a key: create a new secret, with a grace period for the old one",
    method: "POST",
    path: "/api/api-keys/rotate",
    auth: "user",
    fields: [
      which("apiKey"),
      option("--grace <seconds>", "seconds during which the old secret still works", "graceSeconds", { kind: "integer" }),
    ],
    confirm: "Rotate {args}?",
    view: withSecret,
    after: afterSecret,
  },
];

export function registerKeys(program: Command, io: Io): void {
  const keys = registerGroup(program, io, { name: "keys", summary: "API keys", operations, default: "list" });
  for (const command of keys.commands) {
    if (["create", "rotate"].includes(command.name())) command.option("--save", "save the key in this profile, for gw chat");
  }
}

function afterSecret({ settings, print }: Context, answer: ApiAnswer, { options }: CommandInput): void {
  if (options["save"] === true) {
    settings.store({ apiKey: String(valueAt(answer.body, "key")) });
    print.note(`Saved for ${settings.apiUrl.value} (profile ${settings.profile}).`);
  } else print.note("Save the secret now. It will not be shown again.");
}
