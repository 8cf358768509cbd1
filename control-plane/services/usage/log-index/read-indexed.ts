import type { Reader } from "../../../stores/store.ts";
import { type LogPosition, needsRows, type UsageQuery } from "../log-walk.ts";
import { type FoundLogs, type LogRequest, PageRows, readLogs, sumMatching } from "../read-logs.ts";
import type { SortedLogs, SortedRequest } from "../sort-logs.ts";
import type { LogWindow, RowSums } from "./log-chunk.ts";
import type { LogIndex } from "./log-index.ts";

/** Rows before a numbered page that are looked up; later pages are scanned. Cursors have no limit. */
const SKIP_MAX = 20_000;

/** Whether an index can answer: it has the rows behind the position. Where its rows end, no id is before the position's. */
export function isIndexed({ coveredFrom }: LogIndex, { after, skip }: Pick<LogRequest, "after" | "skip">): boolean {
  if (skip > SKIP_MAX) return false;
  return after === undefined || after.createdAt > coveredFrom || (after.createdAt === coveredFrom && after.id !== "");
}

/** Reads one page of a query and the totals of all its rows from memory; only the rows of the page are read from the store. */
export async function readIndexed(
  reader: Reader,
  { index, query, signal }: { index: LogIndex; query: UsageQuery; signal: AbortSignal },
  request: LogRequest,
): Promise<FoundLogs> {
  const { after, skip, limit, withTotals } = request;
  const archivedBefore = await archivedBeforeOf(reader, query);
  // Settlements may have made the index shorter meanwhile.
  if (!isIndexed(index, request)) return readLogs(reader, query, request);
  const { coveredFrom } = index;
  const { window, isWhole, hasAllSums } = coverageOf(query, { coveredFrom, archivedBefore });
  const isSummedByRollups = withTotals && !hasAllSums;
  const { positions, sums } = await index.find(query, window, {
    sort: "createdAt",
    after: after && { ...after, value: after.createdAt },
    limit: skip + limit,
    withSums: withTotals && !isSummedByRollups,
    signal,
  });
  const page = await readRows(reader, query, { ...request, positions: positions.slice(skip) });
  const end = page.nextPosition ?? (isWhole ? undefined : { createdAt: coveredFrom, id: "" });
  const found = { rows: page.rows, nextPosition: end, isPartial: end !== undefined && page.nextPosition === undefined };
  if (isSummedByRollups) return { ...found, ...(await sumMatching(reader, query, request.budget)) };
  return { ...found, ...totalsOf(sums), totalsExact: withTotals && isWhole };
}

/** A page of the log in another order than that of time, like `readIndexed`. It is partial if the index does not have all rows. */
export async function sortIndexed(
  reader: Reader,
  { index, query, signal }: { index: LogIndex; query: UsageQuery; signal: AbortSignal },
  { sort, after, skip, limit, withTotals, budget, bytesMax }: SortedRequest,
): Promise<SortedLogs> {
  const archivedBefore = await archivedBeforeOf(reader, query);
  const { window, isWhole, hasAllSums } = coverageOf(query, { coveredFrom: index.coveredFrom, archivedBefore });
  const withSums = withTotals && hasAllSums;
  const { positions, sums } = await index.find(query, window, { sort, after, limit: skip + limit, withSums, signal });
  const wanted = positions.slice(skip);
  const { rows } = await readRows(reader, query, { positions: wanted, limit, bytesMax });
  const found = { rows, nextPosition: wanted.length > limit ? wanted[limit - 1] : undefined, isPartial: !isWhole };
  if (withTotals && !hasAllSums) return { ...found, ...(await sumMatching(reader, query, budget)) };
  return { ...found, ...totalsOf(sums), totalsExact: withTotals && isWhole };
}

/** Rows of archived months are on their way out of the log. */
async function archivedBeforeOf(reader: Reader, { organizationId }: UsageQuery): Promise<number> {
  return (await reader.get("usageArchives", organizationId))?.before ?? Number.NEGATIVE_INFINITY;
}

interface Coverage {
  /** The part of the query that the index has. */
  readonly window: LogWindow;
  readonly isWhole: boolean;
  /** False: roll-ups know rows before the index and of archived months; they have no text. */
  readonly hasAllSums: boolean;
}

function coverageOf(query: UsageQuery, { coveredFrom, archivedBefore }: { coveredFrom: number; archivedBefore: number }): Coverage {
  const wantedFrom = query.start ?? Number.NEGATIVE_INFINITY;
  const start = Math.max(wantedFrom, archivedBefore);
  return {
    window: { start: Math.max(start, coveredFrom), end: query.end ?? Number.POSITIVE_INFINITY },
    isWhole: coveredFrom <= start,
    hasAllSums: needsRows(query) || Math.max(coveredFrom, archivedBefore) <= wantedFrom,
  };
}

async function readRows(
  reader: Reader,
  { organizationId }: UsageQuery,
  { positions, limit, bytesMax }: Pick<LogRequest, "limit" | "bytesMax"> & { positions: readonly LogPosition[] },
): Promise<Pick<FoundLogs, "rows" | "nextPosition">> {
  const page = new PageRows({ skip: 0, limit, bytesMax });
  const ids = positions.map(({ id }) => id);
  // A row may have been archived since. The organization is checked on every row, as in scans.
  for (const row of await reader.getMany("usage", ids)) if (row?.organizationId === organizationId) page.offer(row);
  return { rows: page.rows, nextPosition: page.isFull ? page.end : positions.length > limit ? positions[limit - 1] : undefined };
}

function totalsOf({ rows, requests, refused, tokens, cost }: RowSums): Pick<FoundLogs, "count" | "totals"> {
  return { count: rows, totals: { requests: BigInt(requests), tokens: BigInt(tokens), cost, refused: BigInt(refused) } };
}
