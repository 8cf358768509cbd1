import type { LogFilter } from "../../../proto/gen/tributary/usage/v1/usage.ts";
import { reportedCall, settle } from "../../proof/ledger-fixture.ts";
import { NOW, openPlatform, outcomeOf, type Platform, type Who } from "../platform-fixture.ts";
import { usageHandlers } from "./service.ts";

let platform: Platform;
beforeEach(async () => {
  platform = await openPlatform();
  const [own, other] = [platform.organization.id, platform.users.stranger.organizationId];
  await settle(platform.deps.store, [
    reportedCall("call_1", 10n, { organizationId: own, teamId: platform.team.id, createdAt: NOW }),
    reportedCall("call_2", 20n, { organizationId: own, teamId: platform.team.id, createdAt: NOW + 1, model: "other" }),
    reportedCall("call_3", 30n, { organizationId: own, teamId: "team_other", createdAt: NOW + 2 }),
    reportedCall("call_4", 40n, { organizationId: other, teamId: "team_else", createdAt: NOW + 3 }),
  ]);
});
afterEach(() => platform.close());

const usage = () => usageHandlers(platform.deps);
const list = (
  who: Who,
  { filter, ...request }: { filter?: Partial<LogFilter>; cursor?: string; sort?: string; page?: { page: number; pageSize: number } } = {},
) =>
  usage().listLogs({ filter: filter && { tags: [], ...filter }, page: undefined, export: false, sort: "", ...request }, platform.as(who));
const sums = (who: Who, changes: { groupBy?: string; interval?: string; timezone?: string } = {}) =>
  usage().getUsage({ filter: undefined, groupBy: "none", interval: "all", timezone: "UTC", ...changes }, platform.as(who));

test.each([
  ["owner", ["call_3", "call_2", "call_1"], 60n],
  ["manager", ["call_3", "call_2", "call_1"], 60n],
  ["member", ["call_2", "call_1"], 30n],
  ["colleague", [], 0n],
  ["stranger", ["call_4"], 40n],
] as const)("%s sees the calls %j, in the log, its totals and the charts", async (who, calls, cost) => {
  const { logs, totals } = await list(who);
  expect(logs.map(({ callId }) => callId)).toEqual(calls);
  expect([totals?.cost, (await sums(who)).totals?.cost]).toEqual([cost, cost]);
});

test("a call of another team or tenant does not exist", async () => {
  const outcomes = (id: string) => platform.outcomes((context) => usage().getLog({ id }, context));
  const all = {
    anonymous: "UNAUTHORIZED",
    operator: "NOT_FOUND",
    owner: "ok",
    manager: "ok",
    colleague: "NOT_FOUND",
    stranger: "NOT_FOUND",
  };
  expect(await outcomes("call_1")).toEqual({ ...all, lead: "ok", member: "ok" });
  expect(await outcomes("call_3")).toEqual({ ...all, lead: "NOT_FOUND", member: "NOT_FOUND" });
});

test("the 404 of a missing call says that it may be archived, if calls of its organization are, for every caller", async () => {
  const { store } = platform.deps;
  const archive = { before: Date.UTC(2026, 8), rows: 1, charged: 1, cost: 1n };
  const id = platform.organization.id;
  await store.transaction("every", (tx) => tx.put("usageArchives", { id, organizationId: id, ...archive }));
  const textFor = (who: Who) =>
    usage()
      .getLog({ id: "call_0" }, platform.as(who))
      .then(() => "found", String);
  const archived = "The log has no such call. Calls from before 2026-09-01 are archived: ask the operator for the archive.";
  expect(await Promise.all([textFor("owner"), textFor("member")])).toEqual([
    expect.stringContaining(archived),
    expect.stringContaining(archived),
  ]);
  expect(await textFor("stranger")).toMatch(/The log has no such call\.$/);
});

test.each([
  ["an unknown team", { teamId: "team_none" }],
  ["a key of another tenant", { apiKey: "key_1" }],
])("a filter by %s is NOT_FOUND", async (_name, filter) => {
  expect(await outcomeOf(list("operator", { filter }))).toBe("NOT_FOUND");
});

test("a removed key that was moved between teams is a filter for the members of both, and of no other", async () => {
  const { organization, team, deps } = platform;
  const own = { organizationId: organization.id, apiKeyId: "key_moved" };
  await settle(deps.store, [
    reportedCall("call_5", 1n, { ...own, teamId: "team_other", createdAt: NOW }),
    reportedCall("call_6", 1n, { ...own, teamId: team.id, createdAt: NOW + 1 }),
    reportedCall("call_7", 1n, { ...own, apiKeyId: "key_back", teamId: team.id, createdAt: NOW }),
    reportedCall("call_8", 1n, { ...own, apiKeyId: "key_back", teamId: "team_other", createdAt: NOW + 1 }),
  ]);
  const ids = async (apiKey: string) => (await list("member", { filter: { apiKey } })).logs.map(({ callId }) => callId);
  expect([await ids("key_moved"), await ids("key_back")]).toEqual([["call_6"], ["call_7"]]);
  for (const who of ["colleague", "stranger"] as const)
    expect(await outcomeOf(list(who, { filter: { apiKey: "key_moved" } }))).toBe("NOT_FOUND");
});

test("a cursor continues the list; any other text is refused", async () => {
  const first = await list("owner", { page: { page: 1, pageSize: 2 } });
  const second = await list("owner", { page: { page: 1, pageSize: 2 }, cursor: first.nextCursor ?? "" });
  expect([first, second].map(({ logs }) => logs.map(({ callId }) => callId))).toEqual([["call_3", "call_2"], ["call_1"]]);
  expect(second.nextCursor).toBeUndefined();
  expect(await outcomeOf(list("owner", { cursor: "next" }))).toBe("VALIDATION_ERROR");
});

test("charts are grouped by model, and sum to the same totals", async () => {
  const { buckets } = await sums("owner", { groupBy: "model" });
  expect(buckets.map(({ group, cost, requests }) => [group, cost, requests])).toEqual([
    ["echo", 40n, 2n],
    ["other", 20n, 1n],
  ]);
});

test.each([{ groupBy: "color" }, { interval: "fortnight" }, { timezone: "Moon/Tranquility" }])("%j is refused", async (changes) => {
  expect(await outcomeOf(sums("owner", changes))).toBe("VALIDATION_ERROR");
});

test("refused calls are in the log and counted in its totals, also those without a row; charts leave them out", async () => {
  const [organizationId, teamId] = [platform.organization.id, platform.team.id];
  const refused = { organizationId, teamId, status: "refused", errorCode: "MODEL_NOT_FOUND", reason: "There is no such model." } as const;
  await settle(platform.deps.store, [
    reportedCall("call_5", 0n, { ...refused, createdAt: NOW + 4 }),
    reportedCall("call_6", 0n, { ...refused, createdAt: NOW + 5, refused: 16 }),
  ]);
  const all = await list("owner");
  expect(all.logs.slice(0, 2)).toMatchObject([
    { callId: "call_6", status: "refused", reason: "There is no such model.", refused: 16n, cost: 0n },
    { callId: "call_5", status: "refused", refused: undefined },
  ]);
  expect(all.meta?.total).toBe(5);
  expect(all.totals).toEqual({ requests: 3n, tokens: expect.any(BigInt), cost: 60n, refused: 17n });
  const only = await list("owner", { filter: { status: "refused" } });
  expect([only.logs.length, only.totals?.refused]).toEqual([2, 17n]);
  expect((await sums("owner")).totals).toMatchObject({ requests: 3n, refused: 17n });
});

test("the log is sorted by what is asked for, and a cursor of another order is refused", async () => {
  const first = await list("owner", { sort: "cost", page: { page: 1, pageSize: 2 } });
  expect(first.logs.map(({ callId }) => callId)).toEqual(["call_3", "call_2"]);
  const cursor = first.nextCursor ?? "";
  const rest = await list("owner", { sort: "cost", cursor, page: { page: 1, pageSize: 2 } });
  expect([rest.logs.map(({ callId }) => callId), rest.nextCursor, rest.totals?.cost]).toEqual([["call_1"], undefined, 60n]);
  expect((await list("member", { sort: "tokens" })).logs.map(({ callId }) => callId)).toEqual(["call_2", "call_1"]);
  for (const sort of ["", "tokens", "color"]) expect(await outcomeOf(list("owner", { sort, cursor }))).toBe("VALIDATION_ERROR");
});
