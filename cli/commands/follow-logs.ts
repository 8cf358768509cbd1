import { setTimeout as sleep } from "node:timers/promises";
import type { Context } from "../context.ts";
import { stateTone } from "../output/paint.ts";
import { rowsOf } from "../output/printer.ts";
import { shown, valueAt } from "../output/values.ts";

const POLL_MS = 1000;
/** A call shows when it has ended, under the time it began: we look this far back for those that took long. */
const LOOK_BACK_MS = 3_600_000;
const SHOWN_AT_START = 10;
const PAGES_A_POLL = 20;

/** The last few calls, then each new one as it is settled. Until Ctrl-C. */
export async function followLogs(context: Context, query: Readonly<Record<string, string>>): Promise<void> {
  const seen = new Map<string, number>();
  const [first] = await pages(context, { query, seen, most: 1 });
  const before = first ?? [];
  for (const row of before) seen.set(idOf(row), beganMs(row));
  for (const row of before.slice(0, SHOWN_AT_START).reverse()) show(context, row);
  context.print.note("Waiting for calls; Ctrl-C ends.");
  while (!context.io.signal.aborted) {
    await sleep(POLL_MS, undefined, { signal: context.io.signal }).catch(() => undefined);
    if (context.io.signal.aborted) return;
    const fresh = (await pages(context, { query, seen, most: PAGES_A_POLL })).flat().filter((row) => !seen.has(idOf(row)));
    fresh.sort((left, right) => String(valueAt(left, "completedAt")).localeCompare(String(valueAt(right, "completedAt"))));
    for (const row of fresh) {
      seen.set(idOf(row), beganMs(row));
      show(context, row);
    }
    const forgotten = context.io.nowMs() - 2 * LOOK_BACK_MS;
    for (const [id, began] of seen) if (began < forgotten) seen.delete(id);
  }
}

/** Newest first, page by page, until one holds nothing new. */
async function pages(
  { client, io }: Context,
  { query, seen, most }: { query: Readonly<Record<string, string>>; seen: ReadonlyMap<string, number>; most: number },
): Promise<unknown[][]> {
  const found: unknown[][] = [];
  const startDate = query["startDate"] ?? new Date(io.nowMs() - LOOK_BACK_MS).toISOString();
  let cursor: string | undefined;
  while (found.length < most) {
    const { body } = await client.send({
      method: "GET",
      path: "/api/gw/logs",
      query: { ...query, startDate, pageSize: "100", cursor },
      auth: "user",
    });
    const rows = [...rowsOf(body)];
    found.push(rows);
    const next = valueAt(body, "meta.nextCursor");
    if (rows.every((row) => seen.has(idOf(row))) || typeof next !== "string") break;
    cursor = next;
  }
  return found;
}

function show({ print }: Context, row: unknown): void {
  print.item(row, () => {
    const status = shown(valueAt(row, "status"));
    const tone = stateTone(status);
    const tokens = `${shown(valueAt(row, "usage.input"))}→${shown(valueAt(row, "usage.output"))} tokens`;
    return [
      print.paint("dim", shown(valueAt(row, "completedAt"), "time").slice(11, 19)),
      tone ? print.paint(tone, shown(valueAt(row, "httpStatus"))) : shown(valueAt(row, "httpStatus")),
      shown(valueAt(row, "model")).padEnd(20),
      shown(valueAt(row, "apiKeyName")).padEnd(14),
      tokens.padEnd(18),
      shown(valueAt(row, "cost"), "usd").padStart(12),
      shown(valueAt(row, "latencyMs"), "ms").padStart(8),
      print.paint("dim", [valueAt(row, "errorCode"), valueAt(row, "id")].filter(Boolean).map(String).join(" ")),
    ].join("  ");
  });
}

const idOf = (row: unknown): string => String(valueAt(row, "id"));
const beganMs = (row: unknown): number => Date.parse(String(valueAt(row, "createdAt")));
