import fc from "fast-check";
import { systemClock } from "../../common/clock.ts";
import type { CallContext } from "../../common/grpc/server.ts";
import { silentLogger } from "../../common/logger.ts";
import type { UsageRow } from "../../control-plane/domain/records.ts";
import { reportedCall, settle } from "../../control-plane/proof/ledger-fixture.ts";
import type { ControlDeps } from "../../control-plane/services/deps.ts";
import { LogIndexes } from "../../control-plane/services/usage/log-index/log-indexes.ts";
import { LogScans } from "../../control-plane/services/usage/log-scans.ts";
import { usageHandlers } from "../../control-plane/services/usage/service.ts";
import { allSlots } from "../../control-plane/slots/slots.ts";
import type { Store } from "../../control-plane/stores/store.ts";
import { openTestStore } from "../../control-plane/stores/test-store.ts";
import type { EdgeDeps } from "../../gateway-edge/deps.ts";
import type { ContentStream } from "../../gateway-edge/server/middleware/content-stream.ts";
import type { Operation, OperationCall } from "../../gateway-edge/server/middleware/operation.ts";
import { usageOperations } from "../../gateway-edge/server/platform/usage.ts";

// The edge's operations over the control plane's handlers over a real store, in one process: a year of calls, hundreds of questions.

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const CALLS = 2_600;
const YEAR_START = Date.UTC(2026, 0, 1);
/** Clocks that change by an hour or by half of one, at midnight or later, and offsets of halves and quarters of an hour. */
const ODD_ZONES = [
  "Europe/Berlin",
  "America/New_York",
  "America/St_Johns",
  "America/Havana",
  "Australia/Lord_Howe",
  "Australia/Eucla",
  "Pacific/Chatham",
  "Pacific/Kiritimati",
  "Pacific/Marquesas",
  "Asia/Kathmandu",
  "Asia/Kolkata",
  "Asia/Beirut",
  "Africa/Casablanca",
  "America/Nuuk",
  "UTC",
];
const ZONES = [...ODD_ZONES, ...Intl.supportedValuesOf("timeZone")];

interface Totals {
  requests: bigint;
  tokens: bigint;
  cost: bigint;
}
interface Line {
  id: string;
  day: string;
  tokens: bigint;
  cost: bigint;
  ledgerSeq: string;
}

const CHANGES = new Map(ODD_ZONES.map((zone) => [zone, findChanges(zone)]));
const ALL_CHANGES = [...CHANGES.values()].flat();

let opened: ReturnType<typeof openTestStore>;
let operations: readonly Operation[];
let calls: readonly UsageRow[];

beforeAll(async () => {
  opened = openTestStore();
  await fill(opened.store);
  const deps = {
    store: opened.store,
    clock: systemClock,
    tokens: { verify: async () => ({ sessionId: "ses_1", userId: 1 }) },
    edges: { caughtUp: async () => {} },
    // On a busy machine a second is not enough for all rows, and the totals would be those of a part, which the answer then says.
    logScans: new LogScans({ clock: systemClock, limits: { timeMsMax: 60_000 } }),
    logIndexes: new LogIndexes({ store: opened.store, clock: systemClock, logger: silentLogger, rowsMax: CALLS }),
    slots: allSlots({ count: 1, self: { id: "test", address: "" } }),
  } as unknown as ControlDeps;
  const handlers = usageHandlers(deps);
  const context: CallContext = { metadata: { authorization: "token" }, signal: new AbortController().signal, setHeader: () => {} };
  const usage = {
    listLogs: (request: Parameters<typeof handlers.listLogs>[0]) => handlers.listLogs(request, context),
    getUsage: (request: Parameters<typeof handlers.getUsage>[0]) => handlers.getUsage(request, context),
  };
  operations = usageOperations({ control: { usage }, clock: systemClock } as unknown as EdgeDeps);
});
afterAll(() => opened.close());

/** Half of the calls lie within two days of a change of some odd zone's clocks, to the millisecond; every tenth is another tenant's. */
async function fill(store: Store): Promise<void> {
  await store.transaction("every", async (tx) => {
    await tx.insert("users", { id: 1, email: "a@b.c", name: "A", role: "user", organizationId: "org_1", passwordHash: "", createdAt: 1 });
    await tx.insert("sessions", { id: "ses_1", userId: 1, organizationId: "org_1", createdAt: 1, expiresAt: Number.MAX_SAFE_INTEGER });
    await tx.insert("organizationMembers", { id: "org_1/1", organizationId: "org_1", userId: 1, role: "owner", joinedAt: 1 });
  });
  calls = Array.from({ length: CALLS }, (_, index) => {
    const near = ALL_CHANGES[index % ALL_CHANGES.length] ?? YEAR_START;
    const spread = (index * 7_919_993) % (4 * DAY_MS);
    const createdAt = index % 2 === 0 ? near - 2 * DAY_MS + spread : YEAR_START + ((index * 104_729_777) % (365 * DAY_MS));
    return reportedCall(`call_${index}`, index % 7 === 0 ? 0n : BigInt(index) ** 4n, {
      createdAt,
      organizationId: index % 10 === 9 ? "org_2" : "org_1",
      teamId: `team_${index % 3}`,
      model: index % 5 === 0 ? "other" : "echo",
      endUser: index % 11 === 0 ? 'a "quoted", comma' : "plain",
    });
  });
  for (let start = 0; start < calls.length; start += 500) await settle(store, calls.slice(start, start + 500));
}

/** Moments of the year at which a zone's clocks change. */
function findChanges(zone: string): number[] {
  const format = new Intl.DateTimeFormat("en-US", { timeZone: zone, timeZoneName: "longOffset" });
  const offset = (moment: number) => format.formatToParts(moment).find(({ type }) => type === "timeZoneName")?.value;
  const found: number[] = [];
  for (let moment = YEAR_START, before = offset(moment); moment < YEAR_START + 365 * DAY_MS; moment += HOUR_MS) {
    const now = offset(moment);
    if (now !== before) found.push(moment);
    before = now;
  }
  return found;
}

async function ask(path: string, query: Record<string, string>): Promise<unknown> {
  const operation = operations.find((entry) => entry.path === path);
  if (!operation?.query) throw new Error(`there is no ${path}`);
  const call: OperationCall = { read: () => ({ deadlineMs: 1 }), write: () => ({ deadlineMs: 1 }), setStatus: () => {} };
  return operation.handler({ query: operation.query.parse(query), body: undefined, params: undefined }, call);
}

test("lines of JSON have the rows of the table, in the same order, with whole amounts", async () => {
  const query = { model: "other", tz: "UTC" };
  let text = "";
  for await (const part of ((await ask("/api/gw/logs", { ...query, format: "jsonl" })) as ContentStream).parts) text += part;
  const lines = text.trimEnd().split("\n");
  const found = lines.map((line) => [JSON.parse(line).id, /"cost":(\d+),/.exec(line)?.[1]]);
  expect(found).toEqual((await csvOf(query)).lines.map(({ id, cost }) => [id, String(cost)]));
  expect(found.length).toBeGreaterThan(400);
});

async function csvOf(query: Record<string, string>): Promise<{ lines: Line[]; pages: number }> {
  const localDay = new Intl.DateTimeFormat("sv-SE", { timeZone: query["tz"] ?? "UTC" });
  let [text, pages] = ["", 0];
  for await (const part of ((await ask("/api/gw/logs", { ...query, format: "csv" })) as ContentStream).parts) {
    text += part;
    pages++;
  }
  const [header = [], ...rows] = parseCsv(text);
  const column = (row: readonly string[], name: string) => row[header.indexOf(name)] ?? "";
  const lines = rows.map((row) => ({
    id: column(row, "id"),
    day: localDay.format(new Date(column(row, "createdAt"))),
    tokens: BigInt(column(row, "totalTokens")),
    cost: BigInt(column(row, "cost")),
    ledgerSeq: column(row, "ledgerSeq"),
  }));
  return { lines, pages };
}

/** RFC 4180, as a spreadsheet reads it. */
function parseCsv(text: string): string[][] {
  return text
    .trimEnd()
    .split("\r\n")
    .map((line) =>
      [...line.matchAll(/("(?:[^"]|"")*"|[^,]*)(?:,|$)/g)].map(([, cell = ""]) => cell.replace(/^"|"$/g, "").replaceAll('""', '"')),
    );
}

function sumOf(lines: readonly Line[]): Totals {
  return lines.reduce(
    ({ requests, tokens, cost }, line) => ({ requests: requests + 1n, tokens: tokens + line.tokens, cost: cost + line.cost }),
    { requests: 0n, tokens: 0n, cost: 0n },
  );
}

async function ledgerOf(store: Store, lines: readonly Line[]): Promise<bigint> {
  const paid = lines.filter(({ ledgerSeq }) => ledgerSeq !== "");
  const entries = await store.getMany(
    "ledger",
    paid.map(({ ledgerSeq }) => Number(ledgerSeq)),
  );
  return entries.reduce((total, entry, index) => {
    if (entry?.reference !== paid[index]?.id) throw new Error("the line names an entry of another call");
    return total + (entry?.amount ?? 0n);
  }, 0n);
}

/** The export, the log's totals, the chart in an interval and the ledger are one amount; gives the export. */
async function expectOneTotal(query: Record<string, string>, interval: string): Promise<Line[]> {
  const { lines } = await csvOf(query);
  const total = sumOf(lines);
  const logs = (await ask("/api/gw/logs", query)) as { meta: { totals: Totals } };
  const chart = (await ask("/api/gw/usage", { ...query, interval })) as {
    data: { bucket: string; requests: bigint; total: bigint; cost: bigint }[];
    meta: { totals: Totals };
  };
  expect(logs.meta.totals).toMatchObject(total);
  expect(chart.meta.totals).toMatchObject(total);
  const drawn = chart.data.map(({ requests, total: tokens, cost }) => ({ requests, tokens, cost }));
  expect(
    drawn.reduce(
      (left, right) => ({
        requests: left.requests + right.requests,
        tokens: left.tokens + right.tokens,
        cost: left.cost + right.cost,
      }),
      { requests: 0n, tokens: 0n, cost: 0n },
    ),
  ).toEqual(total);
  expect(await ledgerOf(opened.store, lines)).toBe(total.cost);
  if (interval === "day") {
    const days = Map.groupBy(lines, ({ day }) => day);
    expect(chart.data.map(({ bucket, cost }) => [bucket, cost]).toSorted()).toEqual(
      [...days].map(([day, of]) => [day, sumOf(of).cost]).toSorted(),
    );
  }
  return lines;
}

const zone = fc.constantFrom(...ZONES);
const interval = fc.constantFrom("hour", "day", "month", "all");
const dayOf = (moment: number) => new Date(moment).toISOString().slice(0, 10);
/** A day near a change of clocks, or any of the year. */
const someDay = fc.oneof(
  fc.constantFrom(...ALL_CHANGES).chain((change) => fc.integer({ min: -2, max: 2 }).map((days) => dayOf(change + days * DAY_MS))),
  fc.integer({ min: 0, max: 364 }).map((day) => dayOf(YEAR_START + day * DAY_MS)),
);
const someTime = fc.tuple(fc.integer({ min: 0, max: 23 }), fc.integer({ min: 0, max: 59 }), fc.constantFrom("", "Z", "+05:45", "-03:30"));
const someMoment = fc.tuple(someDay, someTime).map(([day, [hour, minute, offset]]) => {
  const two = (number: number) => String(number).padStart(2, "0");
  return `${day}T${two(hour)}:${two(minute)}:00${offset}`;
});

test("days of any time zone, changes of clocks included: export, chart and ledger are one amount, and hold exactly the calls of these days", async () => {
  await fc.assert(
    fc.asyncProperty(zone, fc.tuple(someDay, someDay), interval, async (tz, days, drawn) => {
      const [startDate = "", endDate = ""] = days.toSorted();
      const lines = await expectOneTotal({ tz, startDate, endDate }, drawn);
      expect(lines.map(({ id }) => id).toSorted()).toEqual(callsOf(tz, (day) => day >= startDate && day <= endDate));
    }),
    { numRuns: 50 },
  );
});

test("ranges between any two moments, written with or without an offset: export, chart and ledger are one amount", async () => {
  await fc.assert(
    fc.asyncProperty(zone, fc.tuple(someMoment, someMoment), interval, async (tz, [left, right], drawn) => {
      const query = { tz, startDate: left, endDate: right };
      const swapped = { tz, startDate: right, endDate: left };
      const isInOrder = await ask("/api/gw/logs", query).then(
        () => true,
        () => false,
      );
      await expectOneTotal(isInOrder ? query : swapped, drawn);
    }),
    { numRuns: 50 },
  );
});

test("each day around a change of clocks holds the calls that the zone's calendar puts there", async () => {
  for (const tz of ODD_ZONES) {
    const days = Array.from({ length: 368 }, (_, day) => dayOf(YEAR_START + (day - 1) * DAY_MS));
    const around = new Set((CHANGES.get(tz) ?? []).flatMap((change) => [-1, 0, 1].map((day) => dayOf(change + day * DAY_MS))));
    for (const day of days.filter((each) => around.has(each))) {
      const { lines } = await csvOf({ tz, startDate: day, endDate: day });
      expect(lines.map(({ id }) => id).toSorted()).toEqual(callsOf(tz, (each) => each === day));
    }
  }
});

test("the whole export comes in several pages, newest first, each call once", async () => {
  const { lines, pages } = await csvOf({ tz: "UTC" });
  expect(pages).toBeGreaterThan(2);
  expect(new Set(lines.map(({ id }) => id)).size).toBe(lines.length);
  expect(lines.length).toBe(CALLS - CALLS / 10);
  await expectOneTotal({ tz: "Pacific/Chatham", startDate: "2025-01-01" }, "hour");
});

/** The ids of our calls on some days of a zone, as its calendar names them. */
function callsOf(tz: string, isMeant: (day: string) => boolean): string[] {
  const localDay = new Intl.DateTimeFormat("sv-SE", { timeZone: tz });
  const own = calls.filter(({ organizationId, createdAt }) => organizationId === "org_1" && isMeant(localDay.format(createdAt)));
  return own.map(({ id }) => id).toSorted();
}
