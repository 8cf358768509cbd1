import { readFileSync } from "node:fs";
import { extname } from "node:path";
import { usageError } from "../../cli-error.ts";
import type { Context } from "../../context.ts";
import { argument, type Group, option, type RequestValues, required } from "../../operations/spec.ts";
import type { View } from "../../output/printer.ts";
import { valueAt } from "../../output/values.ts";

const path = "/training/strategies";
const LANGUAGES: Readonly<Record<string, string>> = { ".py": "python", ".ts": "typescript" };

const view: View = {
  kind: "record",
  at: "strategy",
  fields: [
    { title: "name", at: "name" },
    { title: "language", at: "language" },
    { title: "sha256", at: "sha256" },
    { title: "created", at: "createdAt", as: "time" },
    { title: "source", at: "source" },
  ],
  id: "strategy.name",
};
const name = argument("name", "strategy name");

/** `gw train strategies`: built-in strategies, and the organization's own. */
export const strategies: Group = {
  name: "strategies",
  summary: "Aggregation strategies, built-in and own",
  default: "list",
  operations: [
    {
      name: "list",
      summary: "List aggregation strategies; --json has their settings with bounds and defaults",
      method: "GET",
      path,
      auth: "optional",
      view: {
        kind: "list",
        columns: [
          { title: "name", at: "name" },
          { title: "sees", at: "sees" },
          { title: "timing", at: "timing" },
          { title: "robust", at: "robust", as: "yesno" },
          { title: "federations", at: "federations", as: "yesno" },
          { title: "own", at: "own.language" },
          { title: "description", at: "description" },
        ],
        id: "name",
        paged: false,
      },
    },
    {
      name: "add",
      summary: "Add an own strategy: a file with a function aggregate(updates, context)",
      method: "POST",
      path,
      auth: "either",
      fields: [
        option("--file <path>", "source file, .py or .ts", "file", { ...required, question: "File" }),
        option("--name <name>", "strategy name", "name", { ...required, question: "Name" }),
      ],
      before: readSource,
      view,
    },
    {
      name: "get",
      summary: "Show an own strategy with its source",
      method: "GET",
      path: `${path}/:name`,
      auth: "either",
      fields: [name],
      view,
    },
    {
      name: "remove",
      summary: "Remove an own strategy. Federations that use it have a copy",
      method: "DELETE",
      path: `${path}/:name`,
      auth: "either",
      fields: [name],
      confirm: "Remove strategy {args}?",
      view: { kind: "sentence", text: (body) => `Removed ${String(valueAt(body, "name"))}.`, id: "name" },
    },
  ],
};

/** Replaces the file's name in the request by its language and content. */
async function readSource(_context: Context, { body }: RequestValues): Promise<void> {
  const file = String(body["file"]);
  const language = LANGUAGES[extname(file)];
  if (language === undefined) throw usageError("--file must end in .py or .ts.");
  delete body["file"];
  try {
    Object.assign(body, { language, source: readFileSync(file, "utf8") });
  } catch (cause) {
    throw usageError(`${file} cannot be read (${(cause as { code?: string }).code ?? "unknown"}).`);
  }
}
