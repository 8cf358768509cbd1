import type { LogList } from "../../api/queries.ts";
import type { UsageLog } from "../../api/types.ts";
import { mergeNewest } from "./merge-newest.ts";

const page = (seconds: readonly number[], nextCursor: string | null = "more"): LogList => ({
  data: seconds.map((second) => ({ id: `call_${second}`, createdAt: new Date(second * 1000).toISOString() }) as UsageLog),
  meta: {
    page: 1,
    pageSize: 2,
    total: seconds.length,
    totalPages: 1,
    nextCursor,
    partial: false,
    totalsExact: true,
    totals: { requests: seconds.length, tokens: 0, cost: 0, costUsd: "0.00", refused: 0 },
  },
});
const known = (...pages: LogList[]) => ({ pages, pageParams: pages.map(() => undefined) });
const ids = (pages: ReturnType<typeof mergeNewest>) => pages?.pages.map(({ data }) => data.map(({ id }) => id));

test("new calls are added at the top, each once, and older pages stay in place", () => {
  const merged = mergeNewest(known(page([3, 2]), page([1])), page([5, 4, 3]));
  expect(ids(merged)).toEqual([["call_5", "call_4", "call_3", "call_2"], ["call_1"]]);
  expect(merged?.pages[0]?.meta.totals.requests).toBe(3);
});

test("a long call is sorted by its start", () => {
  expect(ids(mergeNewest(known(page([5, 2])), page([5, 4, 2])))).toEqual([["call_5", "call_4", "call_2"]]);
});

test("if more calls arrived than one page holds, nothing is merged, so that no call is missing", () => {
  expect(mergeNewest(known(page([2, 1])), page([9, 8]))).toBeUndefined();
  expect(ids(mergeNewest(known(page([], null)), page([9, 8], null)))).toEqual([["call_9", "call_8"]]);
});
