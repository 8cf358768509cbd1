import type { Command } from "commander";
import { usageError } from "../../cli-error.ts";
import type { Context } from "../../context.ts";
import type { Io } from "../../io.ts";
import { canChoose, pickFrom } from "../../operations/pick.ts";
import { type Options, readValues } from "../../operations/read-values.ts";
import { onAction, pagedFields, registerGroup } from "../../operations/register.ts";
import { runOperation } from "../../operations/run-operation.ts";
import { argument, filter, type OperationSpec, type RequestValues } from "../../operations/spec.ts";
import { type Column, format, valueAt } from "../../output/values.ts";
import { contentText } from "./content-text.ts";
import { explain } from "./explain-call.ts";
import { followLogs } from "./follow-logs.ts";
import { usageFilters } from "./usage.ts";

const logColumns: readonly Column[] = [
  { title: "time", at: "createdAt", as: "time" },
  { title: "model", at: "model" },
  { title: "status", at: "status", as: "state" },
  { title: "http", at: "httpStatus" },
  { title: "key", at: "apiKeyName" },
  { title: "in", at: "usage.input", as: "count" },
  { title: "out", at: "usage.output", as: "count" },
  { title: "cost", at: "cost", as: "usd" },
  { title: "latency", at: "latencyMs", as: "ms" },
  { title: "id", at: "id" },
];

const list: OperationSpec = {
  name: "list",
  summary: "List calls of the active organization, newest first",
  method: "GET",
  path: "/api/gw/logs",
  auth: "user",
  fields: [
    ...usageFilters,
    filter("--sort <order>", "largest first: by time, cost, tokens or latency", "sort", {
      choices: ["-createdAt", "-cost", "-tokens", "-latencyMs"],
    }),
  ],
  view: { kind: "list", columns: logColumns, id: "id", empty: 'No calls yet. Make one with `gw chat "hello"`.' },
  after: ({ print }, { body }) => {
    if (print.json || print.quiet) return;
    const total = (name: string) => valueAt(body, `meta.totals.${name}`);
    if (valueAt(body, "meta.partial") === true) print.note("Only the newest calls were searched. Use --all to search all of them.");
    const scope = valueAt(body, "meta.totalsExact") === false ? "searched so far:" : "total:";
    print.note(
      `${scope} ${format(total("requests"), "count")} requests, ${format(total("tokens"), "count")} tokens, ${format(total("cost"), "usd")}`,
    );
  },
};

const receipt: OperationSpec = {
  name: "receipt",
  summary: "Show the signed receipt of a call",
  method: "GET",
  path: "/api/gw/logs/:id/receipt",
  auth: "user",
  fields: [argument("id", "call ID")],
  view: {
    kind: "record",
    fields: [
      { title: "call", at: "receipt.callId" },
      { title: "model", at: "receipt.model" },
      { title: "tokens", at: "receipt.usage.total", as: "count" },
      { title: "cost", at: "receipt.cost", as: "usd" },
      { title: "entry hash", at: "receipt.entryHash" },
      { title: "signature", at: "signature" },
      { title: "key ID", at: "keyId" },
    ],
    id: "receipt.callId",
  },
};

const content: OperationSpec = {
  name: "content",
  summary: "Show the prompt and the answer of a call, if logContent stored them. The read is in the audit log",
  method: "GET",
  path: "/api/gw/logs/:id/content",
  auth: "user",
  fields: [argument("id", "call ID")],
  view: { kind: "sentence", text: (body) => contentText(valueAt(body, "content")) },
};

export function registerLogs(program: Command, io: Io): void {
  const logs = registerGroup(program, io, {
    name: "logs",
    summary: "View call logs and costs",
    operations: [list, receipt, content],
    default: "list",
  });
  const listing = logs.commands.find((command) => command.name() === "list");
  listing
    ?.option("-f, --follow", "show new calls as they arrive")
    .option("--csv", "export all matching calls as CSV")
    .option("--jsonl", "export all matching calls as JSON, one object a line");
  if (listing) onAction(listing, io, listLogs);
  onAction(
    logs.command("explain [id]").description("Explain a call from API key to ledger entry: routing, usage, cost"),
    io,
    async (context, [id]) => explain(context, [id ?? (await chosenCall(context))]),
  );
}

async function chosenCall(context: Context): Promise<string> {
  if (!canChoose(context.io)) throw usageError("<id> is required: call ID.");
  return pickFrom(context, list, "call ID");
}

async function listLogs(context: Context, words: readonly string[], options: Options): Promise<void> {
  const fields = pagedFields(list);
  const chosen = ["follow", "csv", "jsonl"].filter((name) => options[name]);
  if (chosen.length > 1) throw usageError("Use only one of --follow, --csv and --jsonl.");
  const [format] = chosen;
  if (format && options["sort"]) throw usageError(`--${format} is newest first: leave out --sort.`);
  if (!format) return runOperation(context, { ...list, fields }, { words, options });
  const values: RequestValues = await readValues(context, usageFilters, { words: [], options });
  if (options["follow"]) return followLogs(context, values.query);
  const response = await context.client.open({
    method: "GET",
    path: list.path,
    query: { ...values.query, format },
    auth: "user",
    untimed: true,
  });
  const decoder = new TextDecoder();
  for await (const chunk of response.body ?? []) context.print.text(decoder.decode(chunk, { stream: true }));
}
