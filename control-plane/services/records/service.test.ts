import { type PutRecord, RecordWrite, type Record as StoredRecord } from "../../../proto/gen/tributary/records/v1/records.ts";
import { openPlatform, outcomeOf, type Platform } from "../platform-fixture.ts";
import { recordsHandlers } from "./service.ts";

let platform: Platform;
beforeEach(async () => {
  platform = await openPlatform();
});
afterEach(() => platform.close());

// Edges call this service for a caller that they have authenticated, so teams are the only boundary here.
const OTHER_TEAM = "team_other";
const records = () => recordsHandlers(platform.deps);
const context = () => platform.as("anonymous");
const commit = (writes: RecordWrite["write"][], teamId = platform.team.id) =>
  records().commitRecords({ teamId, writes: writes.map((write) => RecordWrite.fromPartial({ write })) }, context());
const create = (id: string, fields: Partial<StoredRecord> = {}) =>
  commit([{ $case: "create", value: { kind: "run", keyId: "key_1", body: "{}", ...fields, id } as StoredRecord }]);
const put = (id: string, fields: Partial<PutRecord>, teamId?: string) =>
  commit([{ $case: "put", value: { kind: "run", body: "{}", ...fields, id } as PutRecord }], teamId);
const get = async (id: string, teamId = platform.team.id) => (await records().getRecord({ teamId, kind: "run", id }, context())).record;
const claim = async (name: string) => {
  const { claimed } = await records().claimRecords({ kinds: ["run"], claim: name, leaseMs: 1000n, limit: 10 }, context());
  return claimed.map(({ record }) => record?.id);
};

test("a record exists only for its own team", async () => {
  await create("run_1", { body: '{"a":1}' });
  expect([(await get("run_1"))?.body, await get("run_1", OTHER_TEAM)]).toEqual(['{"a":1}', undefined]);
  expect(await outcomeOf(put("run_1", {}, OTHER_TEAM))).toBe("NOT_FOUND");
  const { records: listed } = await records().listRecords(
    { teamId: OTHER_TEAM, kind: "run", parentId: "", descending: false, limit: 10 },
    context(),
  );
  expect(listed).toEqual([]);
});

test.each([
  ["an id that is taken", () => create("run_1"), "ALREADY_EXISTS"],
  ["a record that does not exist", () => put("run_none", {}), "NOT_FOUND"],
  ["an outdated revision", () => put("run_1", { expectedRevision: 7n }), "RECORD_CHANGED"],
  ["an id with a slash", () => create("run/1"), "VALIDATION_ERROR"],
  ["a body that is too large", () => create("run_2", { body: "x".repeat(3 * 1024 * 1024 + 1) }), "PAYLOAD_TOO_LARGE"],
] as const)("a write with %s is refused", async (_name, write, expected) => {
  await create("run_1");
  expect(await outcomeOf(write())).toBe(expected);
});

test("a commit with one refused write changes nothing", async () => {
  await create("run_1");
  const writes: RecordWrite["write"][] = [
    { $case: "put", value: { kind: "run", id: "run_1", body: '{"changed":true}' } as PutRecord },
    { $case: "put", value: { kind: "run", id: "run_none", body: "{}" } as PutRecord },
  ];
  expect(await outcomeOf(commit(writes))).toBe("NOT_FOUND");
  expect((await get("run_1"))?.body).toBe("{}");
});

test("due work is claimed by one edge until its lease expires, and only the holder may finish it", async () => {
  await create("run_1", { dueAtMs: BigInt(platform.deps.clock.now()) });
  expect([await claim("a"), await claim("b")]).toEqual([["run_1"], []]);
  expect(await outcomeOf(put("run_1", { claim: "b" }))).toBe("RECORD_CHANGED");
  await platform.advance(1001);
  expect(await claim("b")).toEqual(["run_1"]);
  expect(await outcomeOf(put("run_1", { claim: "a" }))).toBe("RECORD_CHANGED");
  expect(await outcomeOf(put("run_1", { claim: "b" }))).toBe("ok");
});

test("a lost claim is not renewed", async () => {
  await create("run_1", { dueAtMs: BigInt(platform.deps.clock.now()) });
  await claim("a");
  const renew = async (name: string) =>
    (await records().renewClaim({ kind: "run", id: "run_1", claim: name, leaseMs: 1000n }, context())).record?.id;
  expect([await renew("a"), await renew("b")]).toEqual(["run_1", undefined]);
  expect(await outcomeOf(records().renewClaim({ kind: "run", id: "run_1", claim: "a", leaseMs: 1n }, context()))).toBe("VALIDATION_ERROR");
});

test("a cursor of another list is refused", async () => {
  await create("run_1");
  const page = { teamId: platform.team.id, parentId: "", descending: false, limit: 10, after: "run_1" };
  expect(await outcomeOf(records().listRecords({ ...page, kind: "run" }, context()))).toBe("ok");
  expect(await outcomeOf(records().listRecords({ ...page, kind: "thread" }, context()))).toBe("INVALID_REQUEST");
});

test("an upload without a first message is refused", async () => {
  const nothing = (async function* () {})();
  expect(await outcomeOf(records().putContent(nothing, context()))).toBe("VALIDATION_ERROR");
});
