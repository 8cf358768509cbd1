import { usageError } from "../cli-error.ts";
import type { Io } from "../io.ts";
import { documentJson, lineJson } from "./json.ts";
import { type Paint, painter } from "./paint.ts";
import { record, table } from "./table.ts";
import { type Column, format, valueAt } from "./values.ts";

/** How a response is printed: as a list, a record or a sentence. */
export type View =
  | { readonly kind: "list"; readonly columns: readonly Column[]; readonly id: string; readonly empty?: string; readonly paged?: false }
  | { readonly kind: "record"; readonly at?: string; readonly fields: readonly Column[]; readonly id: string }
  | { readonly kind: "sentence"; readonly text: (body: unknown) => string; readonly id?: string };

export interface OutputFlags {
  readonly json?: boolean | undefined;
  readonly table?: boolean | undefined;
  readonly quiet?: boolean | undefined;
  readonly fields?: string | undefined;
}

export interface Printer {
  /** True prints JSON, false prints tables. */
  readonly json: boolean;
  readonly quiet: boolean;
  readonly paint: Paint;
  /** Prints a response on stdout. */
  answer(body: unknown, view: View): void;
  /** Prints one item of a stream: a line of JSON, or a line of text. */
  item(value: unknown, line: () => string): void;
  /** Prints a table that follows a response, after an empty line. */
  table(columns: readonly Column[], rows: readonly unknown[]): void;
  /** Writes text to stdout unchanged. */
  text(text: string): void;
  /** Prints a note on stderr. */
  note(text: string): void;
}

export function createPrinter(io: Io, flags: OutputFlags): Printer {
  if (flags.json && flags.table) throw usageError("Use either --json or --table, not both.");
  const json = flags.json === true || (!flags.table && !io.stdout.isTerminal);
  const paint = painter(io.stdout, io.env);
  const fields = flags.fields?.split(",").map((field) => field.trim());
  const width = io.stdout.isTerminal ? io.stdout.columns : undefined;
  const nowMs = io.stdout.isTerminal ? io.nowMs() : undefined;
  const write = (text: string) => io.stdout.write(text);
  const note = (text: string) => io.stderr.write(`${painter(io.stderr, io.env)("dim", text)}\n`);
  const showList = (body: unknown, view: Extract<View, { kind: "list" }>) => {
    const rows = rowsOf(body);
    if (rows.length === 0) return note(view.empty ?? "No results.");
    write(table({ columns: chosen(view.columns, fields), rows, paint, width, nowMs }));
    const page = pageNote(body);
    if (page) note(page);
  };
  return {
    json,
    quiet: flags.quiet === true,
    paint,
    text: write,
    table: (columns, rows) => write(`\n${table({ columns, rows, paint, width, nowMs })}`),
    note,
    item: (value, line) => write(json ? lineJson(picked(value, fields)) : `${line()}\n`),
    answer(body, view) {
      if (flags.quiet) write(quietLines(body, view));
      else if (json) write(documentJson(pickedDocument(body, { view, fields })));
      else if (view.kind === "sentence") write(`${view.text(body)}\n`);
      else if (view.kind === "record") {
        write(record({ fields: chosen(view.fields, fields), value: view.at ? valueAt(body, view.at) : body, paint, nowMs }));
      } else showList(body, view);
    },
  };
}

export const rowsOf = (body: unknown): readonly unknown[] => {
  const data = valueAt(body, "data");
  return Array.isArray(data) ? data : [];
};

function quietLines(body: unknown, view: View): string {
  if (view.kind === "list")
    return rowsOf(body)
      .map((row) => `${format(valueAt(row, view.id))}\n`)
      .join("");
  return view.id === undefined ? "" : `${format(valueAt(body, view.id))}\n`;
}

function chosen(columns: readonly Column[], fields: readonly string[] | undefined): readonly Column[] {
  return fields?.map((field) => columns.find(({ at, title }) => at === field || title === field) ?? { title: field, at: field }) ?? columns;
}

function pickedDocument(body: unknown, { view, fields }: { view: View; fields: readonly string[] | undefined }): unknown {
  if (!fields) return body;
  if (view.kind === "list") return { ...(body as object), data: rowsOf(body).map((row) => picked(row, fields)) };
  return picked(view.kind === "record" && view.at ? valueAt(body, view.at) : body, fields);
}

function picked(value: unknown, fields: readonly string[] | undefined): unknown {
  return fields ? Object.fromEntries(fields.map((field) => [field, valueAt(value, field) ?? null])) : value;
}

function pageNote(body: unknown): string | undefined {
  const [page, pages, total] = ["page", "totalPages", "total"].map((name) => valueAt(body, `meta.${name}`));
  if (typeof page !== "bigint" || typeof pages !== "bigint" || pages <= 1n) return undefined;
  return `Page ${page} of ${pages}, ${total} total. Use --page ${page + 1n} or --all to see more.`;
}
