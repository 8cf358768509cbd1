import { rollupOf } from "../../domain/settlement.ts";
import type { Reader } from "../../stores/store.ts";
import { Leading, type LogSort, type RankedPosition, sortValue } from "./log-order.ts";
import { LogWalk, type UsageQuery } from "./log-walk.ts";
import { type FoundLogs, type LogRequest, LogSums } from "./read-logs.ts";

/** A requested page of the log in another order than that of time. */
export interface SortedRequest extends Omit<LogRequest, "after"> {
  readonly sort: LogSort;
  readonly after: RankedPosition | undefined;
}

/** A page of a sorted log. `isPartial`: only the newest rows were sorted. */
export interface SortedLogs extends Omit<FoundLogs, "nextPosition"> {
  readonly nextPosition: RankedPosition | undefined;
}

/** Sorts by a scan of all rows that match, within the budget: of a long log only the newest ones. */
export async function sortLogs(
  reader: Reader,
  query: UsageQuery,
  { budget, sort, after, skip, limit, withTotals }: SortedRequest,
): Promise<SortedLogs> {
  const leading = new Leading({ after, limit: skip + limit });
  const sums = new LogSums();
  for await (const row of new LogWalk(reader, query, { budget }).rows()) {
    sums.add(rollupOf(row));
    leading.offer(sortValue(row, sort), row.createdAt, { idOf: () => row.id }, 0);
  }
  const isPartial = budget.isSpent;
  const wanted = leading.sorted().slice(skip);
  const rows = await reader.getMany(
    "usage",
    wanted.slice(0, limit).map(({ id }) => id),
  );
  return {
    // A row may have been archived since.
    rows: rows.filter((row) => row?.organizationId === query.organizationId).filter((row) => row !== undefined),
    nextPosition: wanted.length > limit ? wanted[limit - 1] : undefined,
    isPartial,
    ...sums.found,
    totalsExact: withTotals && !isPartial,
  };
}
