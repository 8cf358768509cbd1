import type { Totals } from "../../../proto/gen/tributary/usage/v1/usage.ts";
import type { Rollup, UsageRow } from "../../domain/records.ts";
import { rollupOf } from "../../domain/settlement.ts";
import type { Reader } from "../../stores/store.ts";
import type { ScanBudget } from "./log-scans.ts";
import { type LogPosition, LogWalk, needsRows, type UsageQuery } from "./log-walk.ts";
import { matchingSums } from "./query.ts";

/** A requested page of the log. */
export interface LogRequest {
  readonly budget: ScanBudget;
  /** Continues after this position; without it the first `skip` rows are skipped. */
  readonly after: LogPosition | undefined;
  readonly skip: number;
  readonly limit: number;
  readonly bytesMax: number;
  readonly withTotals: boolean;
}

/** A page of the log. */
export interface FoundLogs {
  readonly rows: UsageRow[];
  /** Rows of all pages. */
  readonly count: number;
  readonly totals: Totals;
  /** False: the totals cover only the scanned rows. */
  readonly totalsExact: boolean;
  /** Where the next page begins; absent on the last page. */
  readonly nextPosition: LogPosition | undefined;
  /** The budget ended before the page was full: rows after `nextPosition` were not scanned. */
  readonly isPartial: boolean;
}

/** Reads one page of a query and the totals of all its rows, within the budget. */
export async function readLogs(reader: Reader, query: UsageQuery, request: LogRequest): Promise<FoundLogs> {
  const { budget, after, withTotals } = request;
  const sums = new LogSums();
  // A search, or a filter that roll-ups lack, from the newest row reads every row that it has to sum. Other totals come from the roll-ups.
  const isOnePass = withTotals && needsRows(query) && after === undefined;
  const page = await readPage(reader, query, request, isOnePass ? (row) => sums.add(rollupOf(row)) : undefined);
  if (!withTotals || isOnePass) return { ...page, ...sums.found, totalsExact: withTotals && !budget.isSpent };
  return { ...page, ...(await sumMatching(reader, query, budget)) };
}

/** Sums of all rows that match, from roll-ups, in a scan of its own. */
export async function sumMatching(
  reader: Reader,
  query: UsageQuery,
  budget: ScanBudget,
): Promise<Pick<FoundLogs, "count" | "totals" | "totalsExact">> {
  const sums = new LogSums();
  budget.renew();
  for await (const sum of matchingSums(reader, query, budget)) sums.add(sum);
  return { ...sums.found, totalsExact: !budget.isSpent };
}

/** Reads as many rows as requested, or as fit. `onRow` receives every match, also before and after the page. */
async function readPage(
  reader: Reader,
  query: UsageQuery,
  { budget, after, skip, limit, bytesMax }: LogRequest,
  onRow: ((row: UsageRow) => void) | undefined,
): Promise<Pick<FoundLogs, "rows" | "nextPosition" | "isPartial">> {
  const walk = new LogWalk(reader, query, { budget, after, skip: onRow ? 0 : skip });
  const page = new PageRows({ skip: onRow ? skip : 0, limit, bytesMax });
  for await (const row of walk.rows()) {
    onRow?.(row);
    page.offer(row);
    if (page.isFull && !onRow) break;
  }
  const isPartial = !page.isFull && budget.isSpent;
  return { rows: page.rows, nextPosition: page.isFull ? page.end : isPartial ? walk.position : undefined, isPartial };
}

/** Collects the rows that belong to the page. */
export class PageRows {
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

  /** A further row did not fit, so there is another page. */
  get isFull(): boolean {
    return this.#isFull;
  }

  get end(): LogPosition | undefined {
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

/** Sums over rows. A refused call is a row, but not a request that was served. */
export class LogSums {
  readonly found = { count: 0, totals: { requests: 0n, tokens: 0n, cost: 0n, refused: 0n } };

  add({ status, requests, total, cost, refused = 0 }: Rollup): void {
    const { totals } = this.found;
    this.found.count += requests;
    totals.tokens += BigInt(total);
    totals.cost += cost;
    if (status === "refused") totals.refused += BigInt(refused);
    else totals.requests += BigInt(requests);
  }
}

const ROW_NUMBERS_BYTES = 256;
/** Most UTF-8 bytes per UTF-16 code unit. */
const BYTES_PER_CHARACTER = 3;

function bytesAtMost(row: UsageRow): number {
  const texts = [...Object.values(row), ...row.tags].filter((value) => typeof value === "string");
  return ROW_NUMBERS_BYTES + texts.reduce((sum, text) => sum + text.length * BYTES_PER_CHARACTER + BYTES_PER_CHARACTER, 0);
}
