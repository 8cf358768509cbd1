import { CliError } from "../cli-error.ts";
import { EXIT, type ExitCode } from "../exit-codes.ts";
import type { Client } from "../http/client.ts";
import { rowsOf } from "../output/printer.ts";
import { valueAt } from "../output/values.ts";
import type { ImportedKey, ImportedLimits, ImportedTeam, ImportPlan } from "./litellm-plan.ts";

/** A line of the report. */
export interface Line {
  readonly what: "team" | "key" | "note";
  readonly name: string;
  readonly result: string;
  readonly note?: string;
}

const FAILED = "failed";
type Sender = Pick<Client, "send">;

/**
 * Teams first: keys need them. What is there already stays as it is, so that an import can be repeated; limits that a team lacks are set.
 * What fails is a line, and the rest goes on. A team without its limits gets no keys.
 */
export async function carryOut(client: Sender, { teams, keys }: ImportPlan): Promise<Line[]> {
  const ids = new Map<string, string>();
  const lines: Line[] = [];
  for (const team of teams) lines.push(await reported("team", team.name, () => importTeam(client, team, ids)));
  for (const key of keys) lines.push(await reported("key", key.name, () => importKey(client, key, ids.get(key.team))));
  return lines;
}

/** Failures that every later request would meet too. */
const ENDING: ReadonlySet<ExitCode> = new Set([EXIT.notLoggedIn, EXIT.interrupted]);

async function reported(what: Line["what"], name: string, work: () => Promise<string>): Promise<Line> {
  try {
    return { what, name, result: await work() };
  } catch (error) {
    if (!(error instanceof CliError) || ENDING.has(error.exit)) throw error;
    return { what, name, result: FAILED, note: reasonOf(error) };
  }
}

function reasonOf({ facts: { error, details } }: CliError): string {
  const places = Array.isArray(details) ? details.map((one) => `${String(valueAt(one, "path"))} ${String(valueAt(one, "message"))}`) : [];
  return [error, ...places].join(" ");
}

async function importTeam(client: Sender, { from, name, limits }: ImportedTeam, ids: Map<string, string>): Promise<string> {
  const known = await findTeam(client, name);
  const team = known ?? valueAt((await client.send({ method: "POST", path: "/api/gw/teams", body: { name }, auth: "user" })).body, "team");
  const id = String(valueAt(team, "id"));
  const missing = lacking(team, limits);
  const isLimited = Object.keys(missing).length === 0;
  if (!isLimited) await client.send({ method: "PATCH", path: `/api/gw/teams/${id}`, body: missing, auth: "user" });
  ids.set(from, id);
  if (known === undefined) return "imported";
  return isLimited ? "was there" : "was there, limits set";
}

const PAGE_SIZE = 100;

/** Names of teams differ in more than their case. */
async function findTeam(client: Sender, name: string): Promise<unknown> {
  for (let page = 1; ; page++) {
    const query = { search: name, page: String(page), pageSize: String(PAGE_SIZE) };
    const { body } = await client.send({ method: "GET", path: "/api/gw/teams", query, auth: "user" });
    const teams = rowsOf(body);
    const found = teams.find((team) => String(valueAt(team, "name")).toLowerCase() === name.toLowerCase());
    if (found !== undefined || teams.length < PAGE_SIZE) return found;
  }
}

/** The limits that a team does not have; a period belongs to its budget. */
function lacking(team: unknown, limits: ImportedLimits): ImportedLimits {
  const isSet = (name: string) => (valueAt(team, name) ?? undefined) !== undefined;
  return Object.fromEntries(Object.entries(limits).filter(([name]) => !isSet(name === "budgetPeriod" ? "maxBudget" : name)));
}

const EXISTS = 409;

async function importKey(client: Sender, key: ImportedKey, teamId: string | undefined): Promise<string> {
  if (teamId === undefined) throw new CliError(EXIT.failure, { error: "Its team was not imported.", code: "IMPORT" });
  const { name, sha256, maskedKey, spend, expiresAt, limits } = key;
  const body = { name, team_id: teamId, sha256, maskedKey, spend, expiresAt, ...limits };
  try {
    await client.send({ method: "POST", path: "/api/gw/api-keys", body, auth: "user" });
    return "imported";
  } catch (error) {
    if (error instanceof CliError && error.facts.status === EXISTS) return "was there";
    throw error;
  }
}

/** The error of an import of which a part failed; undefined: nothing did. */
export function failureOf(lines: readonly Line[]): CliError | undefined {
  const failed = lines.filter(({ result }) => result === FAILED).length;
  if (failed === 0) return undefined;
  const error = `${failed} of ${lines.length} teams and keys were not imported; their lines say why.`;
  return new CliError(EXIT.failure, { error, code: "IMPORT", hint: "Run the import again afterwards: what is there stays as it is." });
}
