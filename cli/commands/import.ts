import { readdirSync, readFileSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import type { Command } from "commander";
import { usageError } from "../cli-error.ts";
import type { Context } from "../context.ts";
import { carryOut, failureOf, type Line } from "../import/carry-out.ts";
import { type DumpFile, readDump } from "../import/dump.ts";
import { type ImportPlan, planImport } from "../import/litellm-plan.ts";
import type { Io } from "../io.ts";
import type { Options } from "../operations/read-values.ts";
import { onAction } from "../operations/register.ts";
import type { View } from "../output/printer.ts";

const view: View = {
  kind: "list",
  columns: [
    { title: "what", at: "what" },
    { title: "name", at: "name" },
    { title: "result", at: "result" },
    { title: "note", at: "note" },
  ],
  id: "name",
  empty: "The dump has no teams and no keys.",
  paged: false,
};

export function registerImport(program: Command, io: Io): void {
  const group = program.command("import").description("Take over teams, keys, budgets and spend from another gateway");
  const command = group
    .command("litellm <dump>")
    .description(
      "A dump of LiteLLM's database: a plain file of pg_dump, a JSON file, or a folder with a CSV or JSON file for each table. Keys keep working. With --dry-run: what would be done",
    );
  onAction(command, io, importLiteLlm);
}

async function importLiteLlm(context: Context, [path = ""]: readonly string[], _options: Options): Promise<void> {
  const plan = planImport(readDump(filesAt(path)), context.io.nowMs());
  const notes = plan.notes.map(({ subject, note }): Line => ({ what: "note", name: subject, result: "", note }));
  const lines = context.flags.dryRun ? planned(plan) : await carryOut(context.client, plan);
  context.print.answer({ data: [...lines, ...notes] }, view);
  const failure = failureOf(lines);
  if (failure) throw failure;
}

const DUMP_FILE = /\.(sql|csv|json|jsonl|ndjson)$/i;

function filesAt(path: string): DumpFile[] {
  try {
    const names = statSync(path).isDirectory() ? readdirSync(path).map((name) => join(path, name)) : [path];
    return names.filter((name) => DUMP_FILE.test(name)).map((name) => ({ name: basename(name), text: readFileSync(name, "utf8") }));
  } catch (error) {
    throw usageError(`${path} cannot be read: ${error instanceof Error ? error.message : String(error)}.`);
  }
}

function planned({ teams, keys }: ImportPlan): Line[] {
  const result = "would be imported";
  return [
    ...teams.map(({ name }): Line => ({ what: "team", name, result })),
    ...keys.map(({ name }): Line => ({ what: "key", name, result })),
  ];
}
