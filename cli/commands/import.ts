import { readdirSync, readFileSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import type { Command } from "commander";
import { CliError, usageError } from "../cli-error.ts";
import type { Context } from "../context.ts";
import { type DumpFile, readDump } from "../import/dump.ts";
import { type ImportedKey, type ImportedTeam, type ImportPlan, planImport } from "../import/litellm-plan.ts";
import type { Io } from "../io.ts";
import type { Options } from "../operations/read-values.ts";
import { onAction } from "../operations/register.ts";
import type { View } from "../output/printer.ts";
import { valueAt } from "../output/values.ts";

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

interface Line {
  readonly what: "team" | "key" | "note";
  readonly name: string;
  readonly result: string;
  readonly note?: string;
}

async function importLiteLlm(context: Context, [path = ""]: readonly string[], _options: Options): Promise<void> {
  const plan = planImport(readDump(filesAt(path)), context.io.nowMs());
  const notes = plan.notes.map(({ subject, note }): Line => ({ what: "note", name: subject, result: "", note }));
  const lines = context.flags.dryRun ? planned(plan) : await carryOut(context, plan);
  context.print.answer({ data: [...lines, ...notes] }, view);
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

/** Teams first: keys need them. What is there already stays as it is, so that an import can be repeated. */
async function carryOut(context: Context, { teams, keys }: ImportPlan): Promise<Line[]> {
  const ids = new Map<string, string>();
  const lines: Line[] = [];
  for (const team of teams) lines.push(await importTeam(context, team, ids));
  for (const key of keys) lines.push(await importKey(context, key, ids.get(key.team) ?? ""));
  return lines;
}

async function importTeam({ client }: Context, { from, name, limits }: ImportedTeam, ids: Map<string, string>): Promise<Line> {
  const found = await client.send({ method: "GET", path: "/api/gw/teams", query: { search: name, pageSize: "100" }, auth: "user" });
  const teams = valueAt(found.body, "data") as readonly unknown[];
  const known = teams.find((team) => valueAt(team, "name") === name);
  if (known) {
    ids.set(from, String(valueAt(known, "id")));
    return { what: "team", name, result: "was there" };
  }
  const { body } = await client.send({ method: "POST", path: "/api/gw/teams", body: { name }, auth: "user" });
  const id = String(valueAt(body, "team.id"));
  ids.set(from, id);
  if (Object.keys(limits).length > 0) await client.send({ method: "PATCH", path: `/api/gw/teams/${id}`, body: limits, auth: "user" });
  return { what: "team", name, result: "imported" };
}

const EXISTS = 409;

async function importKey({ client }: Context, key: ImportedKey, teamId: string): Promise<Line> {
  const { name, sha256, maskedKey, spend, expiresAt, limits } = key;
  const body = { name, team_id: teamId, sha256, maskedKey, spend, expiresAt, ...limits };
  try {
    await client.send({ method: "POST", path: "/api/gw/api-keys", body, auth: "user" });
    return { what: "key", name, result: "imported" };
  } catch (error) {
    if (error instanceof CliError && error.facts.status === EXISTS) return { what: "key", name, result: "was there" };
    throw error;
  }
}
