import { CliError, usageError } from "../cli-error.ts";
import type { Context } from "../context.ts";
import type { ApiAnswer } from "../http/client.ts";
import { rowsOf } from "../output/printer.ts";
import { valueAt } from "../output/values.ts";
import { isWord, type Options, readValues } from "./read-values.ts";
import type { OperationSpec, RequestValues } from "./spec.ts";

const PAGES_MAX = 10_000n;
const PAGE_SIZE_ALL = "100";

export async function runOperation(
  context: Context,
  spec: OperationSpec,
  given: { words: readonly string[]; options: Options },
): Promise<void> {
  const values = await readValues(context, spec.fields ?? [], given);
  await spec.before?.(context, values);
  if (spec.confirm) await context.confirm(spec.confirm.replace("{args}", () => argumentsOf(spec, values)));
  const all = spec.view.kind === "list" && given.options["all"] === true;
  const answer = all ? await allPages(context, spec, values) : await askTwice(context, spec, values);
  context.print.answer(without(answer.body, spec.hidden ?? []), spec.view);
  await spec.after?.(context, answer, { values, options: given.options });
}

/** The arguments as they are sent, because one that was missing on the command line has been chosen since. */
function argumentsOf({ fields = [] }: OperationSpec, values: RequestValues): string {
  return fields
    .filter(isWord)
    .map((field) => String(values[field.in][field.to] ?? ""))
    .join(" ");
}

function without(body: unknown, names: readonly string[]): unknown {
  if (names.length === 0) return body;
  return Object.fromEntries(Object.entries(body as object).filter(([name]) => !names.includes(name)));
}

async function askTwice(context: Context, spec: OperationSpec, values: RequestValues): Promise<ApiAnswer> {
  try {
    return await ask(context, spec, values);
  } catch (thrown) {
    if (!(thrown instanceof CliError) || !(await spec.retry?.(context, thrown, values))) throw thrown;
    return ask(context, spec, values);
  }
}

function ask({ client }: Context, spec: OperationSpec, values: RequestValues): Promise<ApiAnswer> {
  const path = spec.path.replace(/:(\w+)/g, (_match, name: string) => encodeURIComponent(values.path[name] ?? ""));
  const withBody = spec.method !== "GET" && (spec.method !== "DELETE" || Object.keys(values.body).length > 0);
  return client.send({ method: spec.method, path, query: values.query, auth: spec.auth, ...(withBody ? { body: values.body } : {}) });
}

/** Fetches all pages as one document. */
async function allPages(context: Context, spec: OperationSpec, values: RequestValues): Promise<ApiAnswer> {
  if (values.query["page"]) throw usageError("Use either --all or --page, not both.");
  const data: unknown[] = [];
  let position: Record<string, string> = {};
  for (let page = 1n; page <= PAGES_MAX; page++) {
    const answer = await ask(context, spec, { ...values, query: { ...values.query, pageSize: PAGE_SIZE_ALL, ...position } });
    data.push(...rowsOf(answer.body));
    const next = nextPage(answer.body, page);
    position = next ?? {};
    if (next) continue;
    const meta = { ...(valueAt(answer.body, "meta") as object), page: 1n, pageSize: BigInt(data.length), totalPages: 1n };
    return { ...answer, body: { ...(answer.body as object), data, meta } };
  }
  throw usageError(`The list has more than ${PAGES_MAX} pages.`, "Add filters.");
}

/** A list with cursors is paged by cursor, because its page count may cover only the part searched so far. */
function nextPage(body: unknown, page: bigint): Record<string, string> | undefined {
  const cursor = valueAt(body, "meta.nextCursor");
  if (cursor !== undefined) return typeof cursor === "string" ? { cursor } : undefined;
  const pages = valueAt(body, "meta.totalPages");
  return typeof pages === "bigint" && page < pages ? { page: String(page + 1n) } : undefined;
}
