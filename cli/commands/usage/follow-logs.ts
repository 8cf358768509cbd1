import { setTimeout as sleep } from "node:timers/promises";
import { ignore } from "../../../common/ignore.ts";
import type { Context } from "../../context.ts";
import { rowsOf } from "../../output/printer.ts";
import { valueAt } from "../../output/values.ts";
import { hasRoomForIds, logLine } from "./log-line.ts";

const POLL_MS = 1000;
/** A usage row appears when its call ends but is dated by its start, so the query reaches this far back for long calls. */
const LOOK_BACK_MS = 3_600_000;
const SHOWN_AT_START = 10;
const PAGES_PER_POLL = 20;

/** Prints the last calls, then each new one as it is settled, until Ctrl-C. */
export async function followLogs(context: Context, query: Readonly<Record<string, string>>): Promise<void> {
  const seen = new Map<string, number>();
  const [first] = await pages(context, { query, seen, pagesMax: 1 });
  const before = first ?? [];
  for (const row of before) seen.set(idOf(row), startedMs(row));
  for (const row of before.slice(0, SHOWN_AT_START).reverse()) show(context, row);
  const { isTerminal, columns } = context.io.stdout;
  const ids = isTerminal && !hasRoomForIds(columns) ? " Use a wider terminal to see call IDs." : "";
  context.print.note(`Waiting for calls. Press Ctrl-C to stop.${ids}`);
  while (!context.io.signal.aborted) {
    await ignore(sleep(POLL_MS, undefined, { signal: context.io.signal }), "the signal ends the wait");
    if (context.io.signal.aborted) return;
    const fresh = (await pages(context, { query, seen, pagesMax: PAGES_PER_POLL })).flat().filter((row) => !seen.has(idOf(row)));
    fresh.sort((left, right) => String(valueAt(left, "completedAt")).localeCompare(String(valueAt(right, "completedAt"))));
    for (const row of fresh) {
      seen.set(idOf(row), startedMs(row));
      show(context, row);
    }
    const forgotten = context.io.nowMs() - 2 * LOOK_BACK_MS;
    for (const [id, began] of seen) if (began < forgotten) seen.delete(id);
  }
}

/** Reads pages, newest first, until one has no new rows. */
async function pages(
  { client, io }: Context,
  { query, seen, pagesMax }: { query: Readonly<Record<string, string>>; seen: ReadonlyMap<string, number>; pagesMax: number },
): Promise<unknown[][]> {
  const found: unknown[][] = [];
  const startDate = query["startDate"] ?? new Date(io.nowMs() - LOOK_BACK_MS).toISOString();
  let cursor: string | undefined;
  while (found.length < pagesMax) {
    const { body } = await client.send({
      method: "GET",
      path: "/api/gw/logs",
      query: { ...query, startDate, pageSize: "100", cursor },
      auth: "user",
    });
    const rows = [...rowsOf(body)];
    found.push(rows);
    const next = valueAt(body, "meta.nextCursor");
    const isKnown = rows.length > 0 && rows.every((row) => seen.has(idOf(row)));
    if (isKnown || typeof next !== "string") break;
    cursor = next;
  }
  return found;
}

function show({ print, io }: Context, row: unknown): void {
  print.item(row, () => logLine(row, print.paint, io.stdout.isTerminal ? io.stdout.columns : undefined));
}

const idOf = (row: unknown): string => String(valueAt(row, "id"));
const startedMs = (row: unknown): number => Date.parse(String(valueAt(row, "createdAt")));
