import fc from "fast-check";
import { systemClock } from "../../../common/clock.ts";
import type { UsageRow } from "../../domain/records.ts";
import { DAY, QUARTER, reportedCall, settle } from "../../proof/ledger-fixture.ts";
import { openTestStore } from "../../stores/test-store.ts";
import { LogScans } from "./log-scans.ts";
import type { LogPosition, UsageQuery } from "./log-walk.ts";
import { readLogs } from "./read-logs.ts";

const ROWS = 600;
const SPAN_MS = 20 * QUARTER;
const WINDOW_STARTS = [undefined, DAY, DAY + 3 * QUARTER + 17];
const WINDOW_ENDS = [undefined, DAY + 9 * QUARTER, DAY + 12 * QUARTER + 5];

let opened: ReturnType<typeof openTestStore>;
const rows: UsageRow[] = [];

beforeAll(async () => {
  opened = openTestStore();
  for (let index = 0; index < ROWS; index++) {
    const createdAt = DAY + ((index * 7_919) % SPAN_MS);
    const organizationId = index % 10 === 9 ? "org_2" : "org_1";
    const changes = { createdAt, organizationId, teamId: `team_${index % 3}`, model: index % 7 === 0 ? "other" : "echo" } as const;
    rows.push(reportedCall(`call_${index}`, BigInt(index), { ...changes, status: index % 50 === 0 ? "error" : "success" }));
  }
  await settle(opened.store, rows);
});
afterAll(() => opened.close());

type Filter = { teamId?: string; model?: string; status?: string; search?: string; start?: number; end?: number };

function queryOf({ teamId, model, status, search, start, end }: Filter): UsageQuery {
  const matches: UsageQuery["matches"] = (row) =>
    (teamId === undefined || row.teamId === teamId) &&
    (model === undefined || row.model === model) &&
    (status === undefined || row.status === status);
  return { organizationId: "org_1", keyId: undefined, teamId, search, start, end, matches };
}

function expectedRows({ search, start = 0, end = Number.POSITIVE_INFINITY, ...filter }: Filter): UsageRow[] {
  const { matches } = queryOf(filter);
  return rows
    .filter((row) => row.organizationId === "org_1" && matches(row) && row.createdAt >= start && row.createdAt < end)
    .filter(({ id, model }) => search === undefined || id.includes(search) || model.includes(search))
    .sort((left, right) => right.createdAt - left.createdAt || (left.id < right.id ? 1 : -1));
}

const filters = fc.record(
  {
    teamId: fc.constantFrom("team_0", "team_1", "team_9"),
    model: fc.constantFrom("echo", "other", "missing"),
    status: fc.constantFrom("error", "success"),
    search: fc.constantFrom("call_1", "other", "zzzz"),
    start: fc.constantFrom(...WINDOW_STARTS.filter((start) => start !== undefined)),
    end: fc.constantFrom(...WINDOW_ENDS.filter((end) => end !== undefined)),
  },
  { requiredKeys: [] },
);

test("a walk by cursor under any budget meets every matching row once, and says when it ended early", async () => {
  const walks = fc.record({ filter: filters, limit: fc.integer({ min: 1, max: 40 }), recordsMax: fc.integer({ min: 30, max: 700 }) });
  await fc.assert(
    fc.asyncProperty(walks, async ({ filter, limit, recordsMax }) => {
      const expected = expectedRows(filter);
      const scans = new LogScans({ clock: systemClock, limits: { recordsMax, timeMsMax: 60_000 } });
      const found: string[] = [];
      let after: LogPosition | undefined;
      do {
        const page = await read(scans, filter, { after, limit });
        found.push(...page.rows.map(({ id }) => id));
        if (page.rows.length < limit && page.nextPosition) expect(page.isPartial).toBe(true);
        if (page.totalsExact) expect(page.totals.requests).toBe(BigInt(expected.length));
        else expect(page.totals.requests).toBeLessThanOrEqual(BigInt(expected.length));
        after = page.nextPosition;
      } while (after);
      expect(found).toEqual(expected.map(({ id }) => id));
    }),
    { numRuns: 60 },
  );
});

test("a numbered page is that part of all matching rows, and totals are exact within the budget", async () => {
  const scans = new LogScans({ clock: systemClock, limits: { timeMsMax: 60_000 } });
  const pages = fc.record({ filter: filters, limit: fc.integer({ min: 1, max: 100 }), skip: fc.integer({ min: 0, max: 500 }) });
  await fc.assert(
    fc.asyncProperty(pages, async ({ filter, limit, skip }) => {
      const expected = expectedRows(filter);
      const page = await read(scans, filter, { limit, skip });
      expect(page.rows.map(({ id }) => id)).toEqual(expected.slice(skip, skip + limit).map(({ id }) => id));
      expect(page).toMatchObject({
        isPartial: false,
        totalsExact: true,
        totals: { requests: BigInt(expected.length), cost: expected.reduce((sum, { cost }) => sum + cost, 0n) },
      });
      expect(page.nextPosition !== undefined).toBe(expected.length > skip + limit);
    }),
    { numRuns: 100 },
  );
});

function read(scans: LogScans, filter: Filter, options: { after?: LogPosition | undefined; skip?: number; limit: number }) {
  const request = { organizationId: "org_1", signal: new AbortController().signal };
  const { after, skip = 0, limit } = options;
  return scans.run(request, (budget) =>
    readLogs(opened.store, queryOf(filter), { budget, after, skip, limit, bytesMax: Number.POSITIVE_INFINITY, withTotals: true }),
  );
}
