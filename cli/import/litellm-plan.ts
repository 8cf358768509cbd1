import { fromUsd } from "../../common/money.ts";
import { type Dump, listOf, type Row } from "./dump.ts";

/** Limits in the names of the API; amounts in nano-USD. */
export interface ImportedLimits {
  readonly models?: readonly string[];
  readonly rpm?: number;
  readonly tpm?: number;
  readonly maxParallelRequests?: number;
  readonly maxBudget?: number;
  readonly budgetPeriod?: "daily" | "weekly" | "monthly";
}

export interface ImportedTeam {
  /** LiteLLM's id; empty for the team of keys without one. */
  readonly from: string;
  readonly name: string;
  readonly limits: ImportedLimits;
}

export interface ImportedKey {
  readonly team: string;
  readonly name: string;
  readonly sha256: string;
  readonly maskedKey: string | undefined;
  readonly spend: number;
  readonly expiresAt: string | undefined;
  readonly limits: ImportedLimits;
}

/** What an import would do, and what it cannot carry over. */
export interface ImportPlan {
  readonly teams: readonly ImportedTeam[];
  readonly keys: readonly ImportedKey[];
  readonly notes: readonly { readonly subject: string; readonly note: string }[];
}

const NO_TEAM: ImportedTeam = { from: "", name: "LiteLLM", limits: {} };
/** A day without a time ends in digits after a hyphen, too. */
const DAY_LENGTH = "2026-11-16".length;
const NAME_MAX = 100;
/** LiteLLM's name for an empty list: their empty list means all models. */
const NO_MODELS = "no-default-models";

export function planImport(dump: Dump, nowMs: number): ImportPlan {
  const notes: { subject: string; note: string }[] = [];
  const note = (subject: string, text: string) => notes.push({ subject, note: text });
  const budgets = new Map(dump.LiteLLM_BudgetTable.map((row) => [String(row["budget_id"]), row]));
  const rows = new Map(dump.LiteLLM_TeamTable.map((row) => [String(row["team_id"]), row]));
  const teams = withOwnNames(
    [...rows.values()].flatMap((row) => teamOf(row, note) ?? []),
    note,
  );
  const closed = new Map([...rows].map(([id, row]) => [id, whyClosed(row)]));
  const known = new Set(teams.map(({ from }) => from));
  const keys = dump.LiteLLM_VerificationToken.flatMap((row) => keyOf(row, { budgets, known, closed, nowMs, note }) ?? []);
  const all = keys.some(({ team }) => team === "") ? [...teams, NO_TEAM] : teams;
  return { teams: all, keys, notes };
}

type Note = (subject: string, text: string) => void;

/** Why a team or key may make no calls; undefined: it may. */
function whyClosed(row: Row): string | undefined {
  if (isTrue(row["blocked"])) return "is blocked";
  return listOf(row["models"]).includes(NO_MODELS) ? `may call no model (${NO_MODELS})` : undefined;
}

function teamOf(row: Row, note: Note): ImportedTeam | undefined {
  const from = String(row["team_id"]);
  const name = nameOf(row["team_alias"], from);
  const why = whyClosed(row);
  if (why !== undefined) {
    note(`team ${name}`, `is not imported: it ${why}`);
    return undefined;
  }
  const spent = nanoOf(row["spend"]) ?? 0;
  const limits = limitsOf(row, (text) => note(`team ${name}`, text));
  const { maxBudget, budgetPeriod } = limits;
  if (maxBudget === undefined || budgetPeriod !== undefined || spent === 0) return { from, name, limits };
  // A budget without a period counts from the import on: what is left of it.
  note(`team ${name}`, `spent ${usd(spent)} of its budget of ${usd(maxBudget)}; the rest is its budget here`);
  return { from, name, limits: { ...limits, maxBudget: Math.max(0, maxBudget - spent) } };
}

/** Names of teams differ here in more than their case, so teams with the same alias also have their id in it. */
function withOwnNames(teams: readonly ImportedTeam[], note: Note): ImportedTeam[] {
  const counts = new Map([[NO_TEAM.name.toLowerCase(), 1]]);
  for (const { name } of teams) counts.set(name.toLowerCase(), (counts.get(name.toLowerCase()) ?? 0) + 1);
  return teams.map((team) => {
    if (counts.get(team.name.toLowerCase()) === 1) return team;
    const id = ` (${printable(team.from)})`.slice(-NAME_MAX / 2);
    const name = printable(team.name.slice(0, NAME_MAX - id.length)) + id;
    note(`team ${name}`, "another team has the same alias, so its id is in its name here");
    return { ...team, name };
  });
}

/** The first of these that is a name. */
function nameOf(...given: readonly unknown[]): string {
  const texts = given.map((value) => (value === null || value === undefined ? "" : printable(printable(String(value)).slice(0, NAME_MAX))));
  return texts.find((text) => text !== "") ?? "unnamed";
}

/** Without control characters and halves of characters, which the platform refuses in names. */
const printable = (text: string): string => text.replace(/[\p{Cc}\p{Cs}]+/gu, " ").trim();

interface KeyContext {
  readonly budgets: ReadonlyMap<string, Row>;
  readonly known: ReadonlySet<string>;
  /** Why the teams of the dump may make no calls. */
  readonly closed: ReadonlyMap<string, string | undefined>;
  readonly nowMs: number;
  readonly note: Note;
}

function keyOf(row: Row, context: KeyContext): ImportedKey | undefined {
  const { budgets, known, note } = context;
  const sha256 = String(row["token"]);
  const name = nameOf(row["key_alias"], row["key_name"], sha256.slice(0, 8));
  const why = whyLeftOut(row, context);
  if (why !== undefined) {
    note(`key ${name}`, `is not imported: ${why}`);
    return undefined;
  }
  const team = teamIdOf(row);
  const own = withBudget(row, budgets.get(String(row["budget_id"])));
  if (team !== "" && !known.has(team)) note(`key ${name}`, `its team ${team} is not in the dump; it joins the team ${NO_TEAM.name}`);
  const masked = String(row["key_name"] ?? "");
  return {
    team: known.has(team) ? team : "",
    name,
    sha256,
    maskedKey: /^sk-\.\.\..{1,8}$/.test(masked) ? masked : undefined,
    spend: nanoOf(row["spend"]) ?? 0,
    expiresAt: expiryOf(row)?.toISOString(),
    limits: limitsOf(own, (text) => note(`key ${name}`, text)),
  };
}

/** Why a key is not imported; undefined: it is. */
function whyLeftOut(row: Row, { closed, nowMs }: KeyContext): string | undefined {
  if (!/^[0-9a-f]{64}$/i.test(String(row["token"]))) return "its token is not a SHA-256";
  const [why, whyTeam] = [whyClosed(row), closed.get(teamIdOf(row))];
  if (why !== undefined) return `it ${why}`;
  if (whyTeam !== undefined) return `its team ${whyTeam}`;
  const expiresMs = expiryOf(row)?.getTime() ?? Number.POSITIVE_INFINITY;
  if (Number.isNaN(expiresMs)) return `its expiry ${String(row["expires"])} is not a date`;
  return expiresMs <= nowMs ? "it has expired" : undefined;
}

const teamIdOf = (row: Row): string => (row["team_id"] ? String(row["team_id"]) : "");
const expiryOf = (row: Row): Date | undefined => (row["expires"] ? dateOf(String(row["expires"])) : undefined);

/** Of PostgreSQL or JSON. A time without an offset is UTC, as LiteLLM stores it; PostgreSQL writes offsets of whole hours without minutes. */
function dateOf(text: string): Date {
  const iso = text.replace(" ", "T").replace(/(\d[+-]\d\d)$/, (end) => (text.length > DAY_LENGTH ? `${end}:00` : end));
  return new Date(/T[\d:.]+$/.test(iso) ? `${iso}Z` : iso);
}

/** A key's own limits, and those of its budget row for what it does not set. */
function withBudget(row: Row, budget: Row | undefined): Row {
  return budget ? { ...budget, ...Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null)) } : row;
}

/** LiteLLM's names for "no list of its own". Beside one of them, other names of a list say nothing. */
const ALL_MODELS: ReadonlySet<string> = new Set(["all-team-models", "all-proxy-models", "all-org-models"]);
const PERIODS: Readonly<Record<string, "daily" | "weekly" | "monthly">> = {
  "24h": "daily",
  "1d": "daily",
  "7d": "weekly",
  "1w": "weekly",
  "30d": "monthly",
  "1mo": "monthly",
};

function limitsOf(row: Row, note: (text: string) => void): ImportedLimits {
  const models = listOf(row["models"]);
  const maxBudget = nanoOf(row["max_budget"]);
  const duration = row["budget_duration"];
  const budgetPeriod = PERIODS[String(duration)];
  if (duration && !budgetPeriod && maxBudget !== undefined) note(`its budget has the period ${String(duration)}; here it has none`);
  const limits = {
    models: models.length === 0 || models.some((model) => ALL_MODELS.has(model)) ? undefined : models,
    rpm: countOf(row["rpm_limit"]),
    tpm: countOf(row["tpm_limit"]),
    maxParallelRequests: countOf(row["max_parallel_requests"]),
    maxBudget,
    budgetPeriod: maxBudget === undefined ? undefined : budgetPeriod,
  };
  return Object.fromEntries(Object.entries(limits).filter(([, value]) => value !== undefined));
}

function nanoOf(value: unknown): number | undefined {
  if (value === null || value === undefined || value === "") return undefined;
  const nano = fromUsd(Number(value).toFixed(9));
  return nano === undefined ? undefined : Number(nano);
}

function countOf(value: unknown): number | undefined {
  const count = Number(value);
  return value === null || value === undefined || !Number.isSafeInteger(count) || count < 1 ? undefined : count;
}

const isTrue = (value: unknown): boolean => value === true || value === "t" || value === "true";
const usd = (nano: number): string => `$${(nano / 1e9).toFixed(2)}`;
