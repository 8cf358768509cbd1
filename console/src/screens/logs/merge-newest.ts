import type { InfiniteData } from "@tanstack/react-query";
import type { LogList } from "../../api/queries.ts";

export type LogPages = InfiniteData<LogList, string | undefined>;

/**
 * The newest page put on top of the pages already read, each call once. Undefined when the two do not touch: more calls came than a page
 * holds, and what lies between would be missing.
 */
export function mergeNewest(known: LogPages, newest: LogList): LogPages | undefined {
  const [first, ...rest] = known.pages;
  if (!first) return undefined;
  const seen = new Set(known.pages.flatMap(({ data }) => data.map(({ id }) => id)));
  const added = newest.data.filter(({ id }) => !seen.has(id));
  // A search that ended early has looked at more calls than come between two looks.
  const isWhole = newest.meta.nextCursor === null || newest.meta.partial || added.length < newest.data.length;
  if (!isWhole) return undefined;
  // A call is dated by its start and seen at its end: a long one belongs below shorter ones that began after it.
  const data = [...added, ...first.data].sort(
    (left, right) => right.createdAt.localeCompare(left.createdAt) || right.id.localeCompare(left.id),
  );
  const { totals, totalsExact, total } = newest.meta;
  const meta = { ...first.meta, totals, totalsExact, total };
  return { ...known, pages: [{ data, meta }, ...rest] };
}
