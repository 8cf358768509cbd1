import type { Totals } from "../../../proto/gen/tributary/usage/v1/usage.ts";
import type { UsageRow } from "../../domain/records.ts";
import type { Reader } from "../../stores/store.ts";
import type { ScanBudget } from "./log-scans.ts";
import { type LogPlace, LogWalk, type UsageQuery } from "./log-walk.ts";
import { matchingSums } from "./query.ts";

export interface LogRequest {
  readonly budget: ScanBudget;
  /** Goes on behind a row seen before; without it the first `skip` rows are left out. */
  readonly after: LogPlace | undefined;
  readonly skip: number;
  readonly limit: number;
  readonly bytesMax: number;
  readonly withTotals: boolean;
}

export interface FoundLogs {
  readonly rows: UsageRow[];
  readonly totals: Totals;
  /** Without: the totals are those of what was looked at. */
  readonly totalsExact: boolean;
  /** Where the next page begins; absent when everything was looked at. */
  readonly nextPlace: LogPlace | undefined;
  /** The budget ended before the page was full: what lies behind `nextPlace` was not looked at. */
  readonly isPartial: boolean;
}

/** One page of a query and what all its rows add up to, as far as the budget goes. */
export async function readLogs(reader: Reader, query: UsageQuery, request: LogRequest): Promise<FoundLogs> {
  const { budget, after, withTotals } = request;
  const totals: Totals = { requests: 0n, tokens: 0n, cost: 0n };
  // A text search from the newest row on meets everything that it has to add up. Other totals come from the roll-ups.
  const isOnePass = withTotals && query.search !== undefined && after === undefined;
  const page = await readPage(reader, query, request, isOnePass ? (row) => addRow(totals, row) : undefined);
  if (!withTotals || isOnePass) return { ...page, totals, totalsExact: withTotals && !budget.isSpent };
  budget.renew();
  for await (const { requests, total, cost } of matchingSums(reader, query, budget)) {
    totals.requests += BigInt(requests);
    totals.tokens += BigInt(total);
    totals.cost += cost;
  }
  return { ...page, totals, totalsExact: !budget.isSpent };
}

/** As many rows as wanted, or as fit. `onRow` is given every match, those before and behind the page too. */
async function readPage(
  reader: Reader,
  query: UsageQuery,
  { budget, after, skip, limit, bytesMax }: LogRequest,
  onRow: ((row: UsageRow) => void) | undefined,
): Promise<Pick<FoundLogs, "rows" | "nextPlace" | "isPartial">> {
  const walk = new LogWalk(reader, query, { budget, after, skip: onRow ? 0 : skip });
  const page = new PageRows({ skip: onRow ? skip : 0, limit, bytesMax });
  for await (const row of walk.rows()) {
    onRow?.(row);
    page.offer(row);
    if (page.isFull && !onRow) break;
  }
  const isPartial = !page.isFull && budget.isSpent;
  return { rows: page.rows, nextPlace: page.isFull ? page.end : isPartial ? walk.place : undefined, isPartial };
}

/** As many of the rows offered as belong to the page. */
class PageRows {
  readonly rows: UsageRow[] = [];
  readonly #limit: number;
  readonly #bytesMax: number;
  #toSkip: number;
  #bytes = 0;
  #isFull = false;

  constructor({ skip, limit, bytesMax }: Pick<LogRequest, "skip" | "limit" | "bytesMax">) {
    this.#toSkip = skip;
    this.#limit = limit;
    this.#bytesMax = bytesMax;
  }

  /** A row came for which there was no room: there is another page. */
  get isFull(): boolean {
    return this.#isFull;
  }

  get end(): LogPlace | undefined {
    const last = this.rows.at(-1);
    return last && { createdAt: last.createdAt, id: last.id };
  }

  offer(row: UsageRow): void {
    if (this.#isFull || this.#toSkip-- > 0) return;
    this.#bytes += bytesAtMost(row);
    this.#isFull = this.rows.length === this.#limit || (this.#bytes > this.#bytesMax && this.rows.length > 0);
    if (!this.#isFull) this.rows.push(row);
  }
}

function addRow(totals: Totals, row: UsageRow): void {
  totals.requests++;
  totals.tokens += BigInt(row.usage.total);
  totals.cost += row.cost;
}

const ROW_NUMBERS_BYTES = 256;
/** Of UTF-8, for each character of JavaScript's. */
const BYTES_PER_CHARACTER = 3;

function bytesAtMost(row: UsageRow): number {
  const texts = [...Object.values(row), ...row.tags].filter((value) => typeof value === "string");
  return ROW_NUMBERS_BYTES + texts.reduce((sum, text) => sum + text.length * BYTES_PER_CHARACTER + BYTES_PER_CHARACTER, 0);
}
