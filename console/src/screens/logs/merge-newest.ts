import type { InfiniteData } from "@tanstack/react-query";
import type { LogList } from "../../api/queries.ts";

export type LogPages = InfiniteData<LogList, string | undefined>;

/**
 * Merges the newest page into the loaded pages, each call once. Returns undefined if they do not overlap, because calls between them would
 * be missing.
 */
export function mergeNewest(known: LogPages, newest: LogList): LogPages | undefined {
  const [first, ...rest] = known.pages;
  if (!first) return undefined;
  const seen = new Set(known.pages.flatMap(({ data }) => data.map(({ id }) => id)));
  const added = newest.data.filter(({ id }) => !seen.has(id));
  // A partial search has already covered more calls than can arrive between two polls.
  const isWhole = newest.meta.nextCursor === null || newest.meta.partial || added.length < newest.data.length;
  if (!isWhole) return undefined;
  // A call is dated by its start but appears at its end, so a long call sorts below shorter ones that started later.
  const data = [...added, ...first.data].sort(
    (left, right) => right.createdAt.localeCompare(left.createdAt) || right.id.localeCompare(left.id),
  );
  const { totals, totalsExact, total } = newest.meta;
  const meta = { ...first.meta, totals, totalsExact, total };
  return { ...known, pages: [{ data, meta }, ...rest] };
}
