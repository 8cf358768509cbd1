import fc from "fast-check";
import { systemClock } from "../../../common/clock.ts";
import type { UsageRow } from "../../domain/records.ts";
import { DAY, reportedCall, settle } from "../../proof/ledger-fixture.ts";
import { openTestStore } from "../../stores/test-store.ts";
import { LogIndex } from "./log-index/log-index.ts";
import { sortIndexed } from "./log-index/read-indexed.ts";
import { LOG_SORTS, type LogSort, type RankedPosition, sortValue } from "./log-order.ts";
import { LogScans } from "./log-scans.ts";
import type { UsageQuery } from "./log-walk.ts";
import { type SortedLogs, sortLogs } from "./sort-logs.ts";
import { NO_FILTER } from "./usage-query-fixture.ts";

const signal = new AbortController().signal;

let opened: ReturnType<typeof openTestStore>;
const rows: UsageRow[] = [];

beforeAll(async () => {
  opened = openTestStore();
  for (let number = 0; number < 400; number++) {
    const shared = { createdAt: DAY + ((number * 7_919) % 50_000), organizationId: number % 10 === 9 ? "org_2" : "org_1" };
    const row = reportedCall(`call_${number}`, BigInt((number * 31) % 17), { ...shared, model: number % 3 === 0 ? "other" : "echo" });
    rows.push({ ...row, latencyMs: (number * 13) % 50 });
  }
  await settle(opened.store, rows);
});
afterAll(() => opened.close());

interface Page {
  readonly sort: LogSort;
  readonly after: RankedPosition | undefined;
  readonly skip?: number;
  readonly limit: number;
}
type ReadPage = (query: UsageQuery, page: Page) => Promise<SortedLogs>;

function reading(recordsMax = 100_000, index?: LogIndex): ReadPage {
  const scans = new LogScans({ clock: systemClock, limits: { timeMsMax: 60_000, recordsMax } });
  return (query, { skip = 0, ...page }) =>
    scans.run({ organizationId: query.organizationId, signal }, (budget) => {
      const wanted = { budget, skip, ...page, bytesMax: Number.POSITIVE_INFINITY, withTotals: true };
      return index ? sortIndexed(opened.store, { index, query, signal }, wanted) : sortLogs(opened.store, query, wanted);
    });
}

function indexed(): LogIndex {
  const index = new LogIndex();
  for (const row of rows.filter(({ organizationId }) => organizationId === "org_1")) index.add(row);
  return index;
}

/** As a plain sort of the rows says. */
function expected(query: UsageQuery, sort: LogSort): string[] {
  const found = rows.filter((row) => row.organizationId === query.organizationId && query.matches(row));
  const behind = (left: UsageRow, right: UsageRow) =>
    sortValue(right, sort) - sortValue(left, sort) || right.createdAt - left.createdAt || (right.id < left.id ? -1 : 1);
  return found.toSorted(behind).map(({ id }) => id);
}

describe.each([
  ["a scan", () => reading()],
  ["the index", () => reading(undefined, indexed())],
] as const)("%s sorts a log", (_name, open) => {
  test("every order, filter and page size gives each row once, in the order of a plain sort", async () => {
    const read = open();
    const asked = fc.record({ sort: fc.constantFrom(...LOG_SORTS), limit: fc.integer({ min: 20, max: 150 }), isFiltered: fc.boolean() });
    await fc.assert(
      fc.asyncProperty(asked, async ({ sort, limit, isFiltered }) => {
        const query = isFiltered ? { ...NO_FILTER, matches: ({ model }: { model: string }) => model === "other" } : NO_FILTER;
        const ids: string[] = [];
        let after: RankedPosition | undefined;
        do {
          const page = await read(query, { sort, after, limit });
          ids.push(...page.rows.map(({ id }) => id));
          expect(page).toMatchObject({ isPartial: false, totalsExact: true });
          after = page.nextPosition;
        } while (after);
        expect(ids).toEqual(expected(query, sort));
      }),
      { numRuns: 15 },
    );
  });

  test("a numbered page has the rows after those before it, and totals are of all rows", async () => {
    const page = await open()(NO_FILTER, { sort: "cost", after: undefined, skip: 30, limit: 10 });
    expect(page.rows.map(({ id }) => id)).toEqual(expected(NO_FILTER, "cost").slice(30, 40));
    expect(page.count).toBe(360);
  });
});

test("of a log that is longer than the budget the newest rows are sorted, and the page says so", async () => {
  const page = await reading(100)(NO_FILTER, { sort: "cost", after: undefined, limit: 5 });
  expect(page).toMatchObject({ isPartial: true, totalsExact: false });
  expect(page.rows).toHaveLength(5);
});

test("an index without the oldest rows says that the page is partial", async () => {
  const index = indexed();
  index.coveredFrom = DAY + 25_000;
  const page = await reading(undefined, index)(NO_FILTER, { sort: "latencyMs", after: undefined, limit: 5 });
  expect(page.isPartial).toBe(true);
  expect(page.rows.every(({ createdAt }) => createdAt >= DAY + 25_000)).toBe(true);
});
