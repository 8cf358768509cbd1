import type { Command } from "commander";
import type { Io } from "../io.ts";
import { registerGroup } from "../operations/register.ts";
import { argument, filter, type OperationSpec, option, required } from "../operations/spec.ts";
import { type Column, valueAt } from "../output/values.ts";

const columns: readonly Column[] = [
  { title: "id", at: "id" },
  { title: "name", at: "name" },
  { title: "version", at: "version" },
  { title: "latest", at: "latest_version" },
];
const versionColumns: readonly Column[] = [
  { title: "version", at: "version" },
  { title: "model", at: "template.model" },
  { title: "variables", at: "variables", as: "list" },
  { title: "instructions", at: "template.instructions" },
];

const id = argument("id", "prompt ID");
const paging = [filter("--limit <n>", "at most this many", "limit"), filter("--after <id>", "after this one", "after")];
const template = option(
  "--template <json>",
  "model, instructions, messages and other fields, as JSON; {{name}} is a variable",
  "template",
  {
    kind: "json",
    ...required,
  },
);

const operations: readonly OperationSpec[] = [
  {
    name: "list",
    summary: "List prompts of the API key's team",
    method: "GET",
    path: "/v1/prompts",
    auth: "key",
    fields: paging,
    view: { kind: "list", columns, id: "id", empty: "No prompts.", paged: false },
  },
  {
    name: "show",
    summary: "Show a prompt",
    method: "GET",
    path: "/v1/prompts/:id",
    auth: "key",
    fields: [id],
    view: { kind: "record", fields: columns, id: "id" },
  },
  {
    name: "create",
    summary: "Create a prompt with its first version",
    method: "POST",
    path: "/v1/prompts",
    auth: "key",
    fields: [option("--name <name>", "name", "name"), template],
    view: { kind: "record", fields: columns, id: "id" },
  },
  {
    name: "change",
    summary: "Change the name or the current version of a prompt",
    method: "POST",
    path: "/v1/prompts/:id",
    auth: "key",
    fields: [id, option("--name <name>", "name", "name"), option("--use <version>", "version for requests that name none", "version")],
    view: { kind: "record", fields: columns, id: "id" },
  },
  {
    name: "versions",
    summary: "List the versions of a prompt",
    method: "GET",
    path: "/v1/prompts/:id/versions",
    auth: "key",
    fields: [id, ...paging],
    view: { kind: "list", columns: versionColumns, id: "version", empty: "No versions.", paged: false },
  },
  {
    name: "show-version",
    summary: "Show a version of a prompt",
    method: "GET",
    path: "/v1/prompts/:id/versions/:version",
    auth: "key",
    fields: [id, argument("version", "version, such as 2")],
    view: { kind: "record", fields: versionColumns, id: "version" },
  },
  {
    name: "add-version",
    summary: "Add a version to a prompt; it becomes the current one",
    method: "POST",
    path: "/v1/prompts/:id/versions",
    auth: "key",
    fields: [id, template, option("--not-current", "leave the current version as it is", "current", { kind: "false" })],
    view: { kind: "record", fields: versionColumns, id: "version" },
  },
  {
    name: "remove",
    summary: "Delete a prompt with all its versions",
    method: "DELETE",
    path: "/v1/prompts/:id",
    auth: "key",
    fields: [id],
    confirm: "Delete prompt {args}?",
    view: { kind: "sentence", text: (body) => `Deleted ${String(valueAt(body, "id"))}.`, id: "id" },
  },
];

export function registerPrompts(program: Command, io: Io): void {
  registerGroup(program, io, { name: "prompts", summary: "Manage prompt templates", operations, default: "list" });
}
