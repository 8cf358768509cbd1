import type { Command } from "commander";
import { CliError } from "../cli-error.ts";
import { EXIT } from "../exit-codes.ts";
import type { Io } from "../io.ts";
import { onAction, registerGroup } from "../operations/register.ts";
import { filter, type OperationSpec } from "../operations/spec.ts";
import { rowsOf, type View } from "../output/printer.ts";
import { type Column, valueAt } from "../output/values.ts";

export const modelColumns: readonly Column[] = [
  { title: "name", at: "name" },
  { title: "provider", at: "provider.name" },
  { title: "type", at: "type" },
  { title: "context", at: "contextWindow", as: "count" },
  { title: "input/M", at: "pricing.input", as: "price" },
  { title: "output/M", at: "pricing.output", as: "price" },
  { title: "status", at: "status", as: "state" },
];

export const modelFields: readonly Column[] = [
  { title: "id", at: "id" },
  ...modelColumns.filter(({ title }) => !title.includes("/M")),
  { title: "max output", at: "maxOutputTokens", as: "count" },
  { title: "price unit", at: "pricing.unit" },
  { title: "input per million", at: "pricing.input", as: "price" },
  { title: "output per million", at: "pricing.output", as: "price" },
  { title: "price version", at: "pricing.version" },
  { title: "capabilities", at: "capabilities", as: "list" },
  { title: "parameters", at: "supportedParams", as: "list" },
  { title: "trained", at: "trained" },
  { title: "description", at: "description" },
];

export const providerColumns: readonly Column[] = [
  { title: "id", at: "id" },
  { title: "name", at: "name" },
  { title: "kind", at: "kind" },
  { title: "models", at: "modelCount", as: "count" },
  { title: "status", at: "status", as: "state" },
];

export const modelFilters = [
  filter("--search <text>", "search in names and descriptions", "search"),
  filter("--type <type>", "filter by type: chat, embedding, image, ...", "type"),
  filter("--provider <id>", "filter by provider", "provider"),
  filter("--sort <field>", "sort by name, createdAt, contextWindow, input, output or provider; prefix - for descending", "sort"),
];

const listModels: OperationSpec = {
  name: "list",
  summary: "List available models with prices per million units",
  method: "GET",
  path: "/api/models",
  auth: "none",
  fields: modelFilters,
  view: { kind: "list", columns: modelColumns, id: "name", empty: "No models found." },
};

const listProviders: OperationSpec = {
  name: "list",
  summary: "List providers and their status",
  method: "GET",
  path: "/api/providers",
  auth: "none",
  fields: [filter("--search <text>", "search by name", "search")],
  view: { kind: "list", columns: providerColumns, id: "id", empty: "No providers found." },
};

const listProviderKinds: OperationSpec = {
  name: "kinds",
  summary: "Kinds of providers that can be added",
  method: "GET",
  path: "/api/provider-kinds",
  auth: "none",
  view: {
    kind: "list",
    paged: false,
    columns: [
      { title: "kind", at: "kind" },
      { title: "name", at: "name" },
      { title: "prefixes", at: "prefixes", as: "list" },
      { title: "key variables", at: "environment.api_key", as: "list" },
      { title: "base URL", at: "baseUrl" },
      { title: "operations", at: "operations", as: "list" },
    ],
    id: "kind",
  },
};

const oneModel: View = { kind: "record", at: "model", fields: modelFields, id: "model.name" };

export function registerCatalog(program: Command, io: Io): void {
  const models = registerGroup(program, io, { name: "models", summary: "Models and prices", operations: [listModels], default: "list" });
  const get = models.command("get <name>").description("Show a model by name or ID");
  onAction(get, io, async ({ client, print }, [name = ""]) => {
    const { body } = await client.send({ method: "GET", path: "/api/models", query: { search: name, pageSize: "100" }, auth: "none" });
    const model = rowsOf(body).find((row) => valueAt(row, "name") === name || valueAt(row, "id") === name);
    if (!model)
      throw new CliError(EXIT.notFound, {
        error: `Model ${name} was not found.`,
        code: "NOT_FOUND",
        hint: "List models with `gw models`.",
      });
    print.answer({ model }, oneModel);
  });
  const operations = [listProviders, listProviderKinds];
  registerGroup(program, io, { name: "providers", summary: "Providers and their status", operations, default: "list" });
}
