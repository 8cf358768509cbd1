/** A row of a table; texts as the dump has them, JSON values as JSON. */
export type Row = Readonly<Record<string, unknown>>;

/** The tables of LiteLLM's database that are imported. */
export const TABLES = ["LiteLLM_TeamTable", "LiteLLM_VerificationToken", "LiteLLM_BudgetTable"] as const;
export type TableName = (typeof TABLES)[number];
export type Dump = Readonly<Record<TableName, readonly Row[]>>;

/** A file of a dump. */
export interface DumpFile {
  readonly name: string;
  readonly text: string;
}

/**
 * The rows of a dump: a file of `pg_dump` (plain, with COPY), a JSON file with a list for each table, or a file for each table, named after
 * it, as CSV with a header or as JSON.
 */
export function readDump(files: readonly DumpFile[]): Dump {
  const found = files.map(readFile);
  const rowsOf = (table: TableName) => found.flatMap((tables) => tables[table] ?? []);
  return Object.fromEntries(TABLES.map((table) => [table, rowsOf(table)])) as unknown as Dump;
}

type Tables = Readonly<Partial<Record<string, readonly Row[]>>>;

function readFile({ name, text }: DumpFile): Tables {
  const table = TABLES.find((each) => name.toLowerCase().includes(each.toLowerCase()));
  if (/\.sql$/i.test(name)) return readSql(text);
  if (/\.csv$/i.test(name)) return table ? { [table]: readCsv(text) } : {};
  const value = readJson(text);
  if (Array.isArray(value)) return table ? { [table]: value as Row[] } : {};
  return value as Tables;
}

/** A document, or a line for each row. */
function readJson(text: string): unknown {
  const trimmed = text.trim();
  const isLines = trimmed.startsWith("{") && hasRowPerLine(trimmed);
  return JSON.parse(isLines ? `[${trimmed.split("\n").join(",")}]` : trimmed) as unknown;
}

/** The first line is a whole JSON object, and another line follows. */
function hasRowPerLine(text: string): boolean {
  const end = text.indexOf("\n");
  if (end < 0) return false;
  try {
    JSON.parse(text.slice(0, end));
    return true;
  } catch {
    return false;
  }
}

/** COPY public."LiteLLM_TeamTable" (team_id, …) FROM stdin; then rows of tab-separated texts, and `\.` at the end. */
function readSql(text: string): Tables {
  const tables: Record<string, Row[]> = {};
  let copied: { names: readonly string[]; rows: Row[] } | undefined;
  for (const line of text.split("\n")) {
    if (copied === undefined) {
      const [, table = "", columns = ""] = COPY.exec(line) ?? [];
      if (table === "") continue;
      copied = { names: columns.split(",").map((column) => column.trim().replaceAll('"', "")), rows: [] };
      tables[table] = copied.rows;
    } else if (line === "\\.") copied = undefined;
    else if (line !== "") copied.rows.push(rowOf(copied.names, line.split("\t").map(copyText)));
  }
  return tables;
}

const COPY = /^COPY (?:\w+\.)?"?(\w+)"? \(([^)]*)\) FROM stdin;$/;
const ESCAPES: Readonly<Record<string, string>> = { t: "\t", n: "\n", r: "\r", b: "\b", f: "\f", v: "\v" };

function copyText(text: string): string | null {
  return text === "\\N" ? null : text.replace(/\\(.)/g, (_whole, letter: string) => ESCAPES[letter] ?? letter);
}

function rowOf(names: readonly string[], values: readonly (string | null)[]): Row {
  return Object.fromEntries(names.map((name, index) => [name, values[index] ?? null]));
}

/** With a header; an empty text that is not quoted is null, as PostgreSQL writes it. */
function readCsv(text: string): Row[] {
  const [header = [], ...rows] = csvRecords(text);
  const names = header.map(String);
  return rows.map((values) => rowOf(names, values));
}

function csvRecords(text: string): (string | null)[][] {
  const records: (string | null)[][] = [[]];
  const field = /("(?:[^"]|"")*"|[^,\r\n]*)(,|\r?\n|$)/y;
  while (field.lastIndex < text.length) {
    const [, value = "", end = ""] = field.exec(text) ?? [];
    records.at(-1)?.push(value.startsWith('"') ? value.slice(1, -1).replaceAll('""', '"') : value === "" ? null : value);
    if (end !== ",") records.push([]);
  }
  return records.filter((record) => record.length > 0);
}

/** A list in PostgreSQL's form, `{a,"b c"}`, or as JSON. */
export function listOf(value: unknown): readonly string[] {
  if (Array.isArray(value)) return value.map(String);
  if (typeof value !== "string" || !value.startsWith("{")) return [];
  return [...value.slice(1, -1).matchAll(/"((?:[^"\\]|\\.)*)"|([^,]+)/g)].map(([, quoted, plain = ""]) =>
    quoted === undefined ? plain : quoted.replace(/\\(.)/g, "$1"),
  );
}
