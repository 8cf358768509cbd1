import { setImmediate as nextTurn } from "node:timers/promises";
import fc from "fast-check";
import { type Clock, systemClock } from "../../../../common/clock.ts";
import { silentLogger } from "../../../../common/logger.ts";
import type { UsageRow } from "../../../domain/records.ts";
import { DAY, plant, QUARTER, reportedCall, settle } from "../../../proof/ledger-fixture.ts";
import { openTestStore } from "../../../stores/test-store.ts";
import { LogScans } from "../log-scans.ts";
import type { LogPosition, UsageQuery } from "../log-walk.ts";
import { readLogs } from "../read-logs.ts";
import { NO_FILTER } from "../usage-query-fixture.ts";
import { CHUNK_ROWS } from "./log-chunk.ts";
import { LogIndex } from "./log-index.ts";
import { LogIndexes } from "./log-indexes.ts";
import { isIndexed, readIndexed } from "./read-indexed.ts";

const ROWS = 900;
const never = new AbortController().signal;

let opened: ReturnType<typeof openTestStore>;
const rows: UsageRow[] = [];

beforeAll(async () => {
  opened = openTestStore();
  for (let number = 0; number < ROWS; number++) {
    const shared = { createdAt: DAY + ((number * 7_919) % (9 * QUARTER)), organizationId: number % 10 === 9 ? "org_2" : "org_1" };
    const varied = { teamId: `team_${number % 3}`, model: number % 7 === 0 ? "Other" : "echo", endUser: `user-${number % 40}` };
    const changes = { ...shared, ...varied, ...(number % 6 === 0 ? { tags: ["Nightly", `run ${number % 5}`] } : {}) };
    rows.push(
      number % 50 === 0
        ? reportedCall(`call_${number}`, 0n, { ...changes, status: "refused", ...(number % 100 === 0 ? { refused: 7 } : {}) })
        : reportedCall(`call_${number}`, BigInt(number) ** 5n, changes),
    );
  }
  await settle(opened.store, rows);
});
afterAll(() => opened.close());

function indexesOf({ clock = systemClock, rowsMax = 100_000 }: { clock?: Clock; rowsMax?: number } = {}): LogIndexes {
  return new LogIndexes({ store: opened.store, clock, logger: silentLogger, rowsMax });
}

interface Page {
  readonly after?: LogPosition | undefined;
  readonly skip?: number;
  readonly limit: number;
}

/** A page as the service reads it: from memory, or by a scan if the index cannot answer. */
function read(indexes: LogIndexes, query: UsageQuery, { after, skip = 0, limit }: Page) {
  const scans = new LogScans({ clock: systemClock, limits: { timeMsMax: 60_000 } });
  return scans.run({ organizationId: query.organizationId, signal: never }, (budget) => {
    const wanted = { budget, after, skip, limit, bytesMax: Number.POSITIVE_INFINITY, withTotals: true };
    const index = indexes.of(query.organizationId);
    return index && isIndexed(index, wanted)
      ? readIndexed(opened.store, { index, query, signal: never }, wanted)
      : readLogs(opened.store, query, wanted);
  });
}

async function allIds(indexes: LogIndexes, query: UsageQuery, limit: number): Promise<string[]> {
  const ids: string[] = [];
  let after: LogPosition | undefined;
  do {
    const page = await read(indexes, query, { after, limit });
    ids.push(...page.rows.map(({ id }) => id));
    after = page.nextPosition;
  } while (after);
  return ids;
}

interface Filter {
  readonly teamId?: string;
  readonly model?: string;
  readonly status?: string;
  readonly search?: string;
  readonly endUser?: string;
  readonly tag?: string;
  readonly start?: number;
  readonly end?: number;
}

const filters: fc.Arbitrary<Filter> = fc.record(
  {
    teamId: fc.constantFrom("team_0", "team_1", "team_9"),
    model: fc.constantFrom("echo", "Other", "missing"),
    status: fc.constantFrom("refused", "success"),
    search: fc.constantFrom("call_1", "all_12", "other", "user-3", "nightly", "run 2", "zzzz", "\0", "0\0call"),
    endUser: fc.constantFrom("user-3", "User-3", "user"),
    tag: fc.constantFrom("nightly", "Nightly", "night"),
    start: fc.constantFrom(DAY, DAY + 3 * QUARTER + 17),
    end: fc.constantFrom(DAY + 6 * QUARTER, DAY + 7 * QUARTER + 5),
  },
  { requiredKeys: [] },
);

function queryOf({ teamId, model, status, endUser, tag, ...rest }: Filter): UsageQuery {
  const matches: UsageQuery["matches"] = (row) =>
    (teamId === undefined || row.teamId === teamId) &&
    (model === undefined || row.model === model) &&
    (status === undefined || row.status === status);
  const matchesLabels =
    endUser === undefined && tag === undefined
      ? undefined
      : (user: string, tags: readonly string[]) => (endUser === undefined || user === endUser) && (tag === undefined || tags.includes(tag));
  return { ...NO_FILTER, ...rest, teamId, matches, matchesLabels };
}

function expectedRows({ search, start = 0, end = Number.POSITIVE_INFINITY, ...filter }: Filter): UsageRow[] {
  const { matches } = queryOf(filter);
  const { endUser, tag } = filter;
  const texts = ({ id, model, endUser = "", tags }: UsageRow) => [id, model, endUser, ...tags].map((text) => text.toLowerCase());
  return rows
    .filter((row) => row.organizationId === "org_1" && matches(row) && row.createdAt >= start && row.createdAt < end)
    .filter((row) => (endUser === undefined || row.endUser === endUser) && (tag === undefined || row.tags.includes(tag)))
    .filter((row) => search === undefined || texts(row).some((text) => text.includes(search)))
    .sort((left, right) => right.createdAt - left.createdAt || (left.id < right.id ? 1 : -1));
}

test("pages by cursor and by number, and totals, are those of all matching rows", async () => {
  const indexes = indexesOf();
  await indexes.build("org_1");
  const pages = fc.record({ filter: filters, limit: fc.integer({ min: 1, max: 60 }), skip: fc.integer({ min: 0, max: 300 }) });
  await fc.assert(
    fc.asyncProperty(pages, async ({ filter, limit, skip }) => {
      const expected = expectedRows(filter);
      expect(await allIds(indexes, queryOf(filter), limit)).toEqual(expected.map(({ id }) => id));
      const page = await read(indexes, queryOf(filter), { skip, limit });
      expect(page.rows.map(({ id }) => id)).toEqual(expected.slice(skip, skip + limit).map(({ id }) => id));
      const refused = expected.filter(({ status }) => status === "refused");
      expect(page).toMatchObject({
        count: expected.length,
        isPartial: false,
        totalsExact: true,
        totals: {
          requests: BigInt(expected.length - refused.length),
          refused: refused.reduce((sum, row) => sum + BigInt(row.refused ?? 1), 0n),
          cost: expected.reduce((sum, { cost }) => sum + cost, 0n),
          tokens: 30n * BigInt(expected.length),
        },
      });
    }),
    { numRuns: 80 },
  );
});

test("a call that is settled while the log is read is in the index once, whether the read met it or not", async () => {
  const sleeping = Promise.withResolvers<void>();
  const indexes = indexesOf({ clock: { ...systemClock, sleep: () => sleeping.promise } });
  const built = indexes.build("org_1");
  // The first page is read; the others wait for the pause.
  const late = reportedCall("call_late", 5n, { createdAt: DAY + 1 });
  const met = rows.filter(({ organizationId }) => organizationId === "org_1").slice(0, 5);
  indexes.add([late, ...met]);
  await settle(opened.store, [late]);
  expect(indexes.of("org_1")).toBeUndefined();
  sleeping.resolve();
  await built;
  const ids = await allIds(indexes, NO_FILTER, 50);
  expect(ids.filter((id) => id === "call_late")).toHaveLength(1);
  expect(ids).toHaveLength(new Set(ids).size);
  indexes.add([reportedCall("call_ghost", 5n)]);
  expect((await read(indexes, { ...NO_FILTER, search: "call_ghost" }, { limit: 5 })).count).toBe(1);
  await plant(opened.store, "usage", "call_late", "removed");
});

test("of a log with more rows than fit, the newest are in memory, and a cursor continues with a scan", async () => {
  const indexes = indexesOf({ rowsMax: 300 });
  await indexes.build("org_1");
  const index = indexes.of("org_1");
  expect(index?.rows).toBeLessThanOrEqual(400);
  expect(index?.coveredFrom).toBeGreaterThan(DAY);
  const filter = { model: "Other" };
  expect(await allIds(indexes, queryOf(filter), 20)).toEqual(expectedRows(filter).map(({ id }) => id));
  const search = await read(indexes, { ...NO_FILTER, search: "zzzz" }, { limit: 20 });
  expect(search).toMatchObject({ rows: [], isPartial: true, totalsExact: false, nextPosition: { createdAt: index?.coveredFrom } });
});

test("a row that the read meets before its commit is over is in the index once", async () => {
  const paused = Promise.withResolvers<void>();
  let pages = 0;
  const sleep = async () => {
    if (++pages === Math.ceil((ROWS * 0.9) / 200)) paused.resolve();
  };
  const indexes = indexesOf({ clock: { ...systemClock, sleep } });
  const row = reportedCall("call_visible", 5n, { createdAt: DAY + 1 });
  const end = indexes.begin();
  await settle(opened.store, [row]);
  const built = indexes.build("org_1");
  await paused.promise;
  // The last page is read.
  await nextTurn();
  indexes.add([row]);
  end();
  await built;
  expect((await read(indexes, { ...NO_FILTER, search: "call_visible" }, { limit: 5 })).count).toBe(1);
  await plant(opened.store, "usage", "call_visible", "removed");
});

/** Indexes with room for all rows but one, and the time. */
function tightIndexes() {
  const time = { nowMs: 0 };
  const clock = { ...systemClock, monotonicMs: () => time.nowMs, sleep: async () => {} };
  return { time, indexes: indexesOf({ clock, rowsMax: ROWS - 1 }) };
}

test("the log that was used longest ago makes room for another, and one that is not used for an hour is dropped", async () => {
  const { time, indexes } = tightIndexes();
  await indexes.build("org_2");
  time.nowMs = 300_001;
  await indexes.build("org_1");
  expect([indexes.of("org_1") === undefined, indexes.of("org_2")]).toEqual([false, undefined]);
  time.nowMs += 3_600_001;
  indexes.add([reportedCall("call_x", 1n, { organizationId: "org_3" })]);
  expect(indexes.of("org_1")).toBeUndefined();
});

test("a log that does not fit beside one in use does not replace it, and is not read again for ten minutes", async () => {
  const { time, indexes } = tightIndexes();
  await indexes.build("org_2");
  await indexes.build("org_1");
  expect([indexes.of("org_1"), indexes.of("org_2")?.rows]).toEqual([undefined, ROWS / 10]);
  time.nowMs = 599_999;
  await indexes.build("org_1");
  expect(indexes.of("org_1")).toBeUndefined();
  time.nowMs = 600_000;
  indexes.of("org_2");
  time.nowMs = 900_001;
  await indexes.build("org_1");
  expect([indexes.of("org_1")?.rows, indexes.of("org_2")]).toEqual([ROWS * 0.9, undefined]);
});

test("logs are read one at a time, and at most a hundred wait", async () => {
  let running = 0;
  let most = 0;
  const sleep = async () => {
    most = Math.max(most, ++running);
    for (let turn = 0; turn < 5; turn++) await nextTurn();
    running--;
  };
  const indexes = indexesOf({ clock: { ...systemClock, sleep } });
  const others = Array.from({ length: 100 }, (_, number) => `org_w${number}`);
  await Promise.all(["org_1", "org_2", ...others].map((organizationId) => indexes.build(organizationId)));
  expect(most).toBe(1);
  const read = ["org_1", "org_2", "org_w98", "org_w99"].map((organizationId) => indexes.of(organizationId) !== undefined);
  expect(read).toEqual([true, true, true, false]);
});

test("a log that waits is not read when its rows become uncertain, nor one with too many settlements meanwhile", async () => {
  const sleeping = Promise.withResolvers<void>();
  const indexes = indexesOf({ clock: { ...systemClock, sleep: () => sleeping.promise } });
  const built = Promise.all([indexes.build("org_1"), indexes.build("org_2"), indexes.build("org_3")]);
  indexes.forget((organizationId) => organizationId === "org_2");
  indexes.add(new Array<UsageRow>(50_001).fill(reportedCall("call_many", 1n)));
  sleeping.resolve();
  await built;
  expect(["org_1", "org_2", "org_3"].map((organizationId) => indexes.of(organizationId)?.rows)).toEqual([undefined, undefined, 0]);
});

test("a log is dropped when rows may be missing, also while it is read", async () => {
  const indexes = indexesOf();
  const built = indexes.build("org_1");
  indexes.forget((organizationId) => organizationId === "org_1");
  await built;
  expect(indexes.of("org_1")).toBeUndefined();
  await indexes.build("org_1");
  expect(indexes.of("org_1")).toBeDefined();
});

test("rows of archived months are not found any more, but counted in totals, as in a scan", async () => {
  const indexes = indexesOf();
  await indexes.build("org_1");
  const before = DAY + 4 * QUARTER;
  const archive = { id: "org_1", organizationId: "org_1", before, rows: 1, charged: 1, cost: 1n };
  await opened.store.transaction("every", (tx) => tx.put("usageArchives", archive));
  const left = expectedRows({ start: before });
  expect(await allIds(indexes, NO_FILTER, 300)).toEqual(left.map(({ id }) => id));
  const { count, totals, totalsExact } = await read(indexesOf(), NO_FILTER, { limit: 1 });
  expect(await read(indexes, NO_FILTER, { limit: 1 })).toMatchObject({ count, totals, totalsExact });
  expect(totalsExact).toBe(true);
  expect(count).toBeGreaterThan(left.length);
  // The months that are left, and a search, are counted by the index.
  expect(await read(indexes, { ...NO_FILTER, start: before }, { limit: 1 })).toMatchObject({ count: left.length, totalsExact: true });
  const search = await read(indexes, { ...NO_FILTER, search: "nightly" }, { limit: 1 });
  expect(search).toMatchObject({ count: expectedRows({ start: before, search: "nightly" }).length, totalsExact: true });
  await plant(opened.store, "usageArchives", "org_1", "removed");
});

test("a page is scanned if its rows leave the index while it is read", async () => {
  const index = new LogIndex();
  for (const row of rows) if (row.organizationId === "org_1") index.add(row);
  const expected = expectedRows({});
  const after = expected[99];
  const scans = new LogScans({ clock: systemClock, limits: { timeMsMax: 60_000 } });
  const page = await scans.run({ organizationId: "org_1", signal: never }, (budget) => {
    const wanted = { budget, after, skip: 0, limit: 5, bytesMax: Number.POSITIVE_INFINITY, withTotals: false };
    const reading = readIndexed(opened.store, { index, query: NO_FILTER, signal: never }, wanted);
    index.shrinkTo({ rows: 0, bytes: 0 });
    return reading;
  });
  expect(page.rows.map(({ id }) => id)).toEqual(expected.slice(100, 105).map(({ id }) => id));
});

test("a log over several chunks is in the order of its calls, however they were settled", async () => {
  const indexes = indexesOf();
  await indexes.build("org_big");
  const total = 2 * CHUNK_ROWS + 10;
  const big = Array.from({ length: total }, (_, number) =>
    reportedCall(`call_b${number}`, 1n, { organizationId: "org_big", createdAt: DAY + ((number * 7_907) % total) }),
  );
  indexes.add(big);
  const query = { ...NO_FILTER, organizationId: "org_big" };
  const found = await indexes.of("org_big")?.find(
    query,
    { start: 0, end: DAY + total },
    {
      sort: "createdAt",
      after: { createdAt: DAY + 5_000, id: "", value: DAY + 5_000 },
      limit: 100,
      withSums: true,
      signal: never,
    },
  );
  expect(found?.positions.map(({ createdAt }) => createdAt)).toEqual(Array.from({ length: 101 }, (_, place) => DAY + 4_999 - place));
  expect(found?.sums).toMatchObject({ rows: total, cost: BigInt(total) });
});

/** Calls with a tag of their own, of the given length. */
function labeledCalls(count: number, characters: number): UsageRow[] {
  const tags = (number: number) => [`${number}-`.padEnd(characters, "x")];
  return Array.from({ length: count }, (_, number) =>
    reportedCall(`call_l${number}`, 1n, { organizationId: "org_labels", createdAt: DAY + number, tags: tags(number) }),
  );
}

test("rows with long texts take no more memory than so many short ones: the oldest are forgotten", async () => {
  const indexes = indexesOf({ rowsMax: 20_000 });
  await indexes.build("org_labels");
  const sizes: number[] = [];
  const calls = labeledCalls(3_000, 1_300);
  for (let from = 0; from < calls.length; from += 100) {
    indexes.add(calls.slice(from, from + 100));
    sizes.push(indexes.of("org_labels")?.bytes ?? 0);
  }
  expect(Math.max(...sizes)).toBeLessThanOrEqual(20_000 * 200);
  expect(Math.max(...sizes)).toBeGreaterThan(20_000 * 180);
  expect(indexes.of("org_labels")?.coveredFrom).toBeGreaterThan(DAY);
});

test("a search over long texts yields to the event loop", async () => {
  const indexes = indexesOf();
  await indexes.build("org_labels");
  // The last one is the oldest, so it is read after a whole chunk.
  indexes.add(labeledCalls(CHUNK_ROWS + 1, 300).map((row, number) => ({ ...row, createdAt: DAY - number })));
  let hasYielded = false;
  setImmediate(() => {
    hasYielded = true;
  });
  const query = { ...NO_FILTER, organizationId: "org_labels", search: "8192-x" };
  const request = { sort: "createdAt", after: undefined, limit: 5, withSums: true, signal: never } as const;
  const found = await indexes.of("org_labels")?.find(query, { start: 0, end: DAY * 2 }, request);
  expect(found?.positions).toMatchObject([{ createdAt: DAY - CHUNK_ROWS, id: `call_l${CHUNK_ROWS}` }]);
  expect(hasYielded).toBe(true);
});
