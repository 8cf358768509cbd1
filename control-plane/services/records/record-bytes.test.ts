import { removeOldRecords } from "../../jobs/remove-records.ts";
import { openPlatform, type Platform } from "../platform-fixture.ts";
import { recordsHandlers } from "./service.ts";

const LIMIT = 1000;
let platform: Platform;
beforeEach(async () => {
  platform = await openPlatform({ RECORDS_BYTES_MAX_PER_ORGANIZATION: String(LIMIT) });
});
afterEach(() => platform.close());

type Write = Parameters<ReturnType<typeof recordsHandlers>["commitRecords"]>[0]["writes"][number];
const used = async () => (await platform.deps.store.get("storage", platform.organization.id))?.recordBytes;
const commit = (...writes: Write[]) =>
  recordsHandlers(platform.deps).commitRecords({ teamId: platform.team.id, writes }, platform.as("anonymous"));

function create(id: string, bytes: number, { kind = "response", parentId = "", ...more }: Record<string, unknown> = {}): Write {
  const ids = { id, kind: String(kind), parentId: String(parentId), teamId: platform.team.id, organizationId: platform.organization.id };
  const value = { ...ids, keyId: "key_1", body: "x".repeat(bytes), revision: 0n, sequence: 0n, createdAtMs: 1n, ...more };
  return { write: { $case: "create", value: { dueAtMs: undefined, claim: undefined, expiresAtMs: undefined, ...value } } };
}
function put(id: string, bytes: number, more: object = {}): Write {
  const given = { kind: "response", id, body: "x".repeat(bytes), expectedRevision: undefined, dueAtMs: undefined, claim: undefined };
  return { write: { $case: "put", value: { ...given, expiresAtMs: undefined, keepWork: false, ...more } } };
}
const remove = (id: string, kind = "response", withChildren = false): Write => ({
  write: { $case: "remove", value: { kind, id, expectedRevision: undefined, withChildren } },
});

test("stored responses, conversations and prompts count for their organization until they are removed; other records do not", async () => {
  await commit(create("resp_1", 300), create("thread_1", 5000, { kind: "thread" }));
  await commit(create("conv_1", 100, { kind: "conversation" }), create("item_1", 200, { kind: "conversation_item", parentId: "conv_1" }));
  await commit(create("prompt_1", 50, { kind: "prompt" }), create("pv_1", 50, { kind: "prompt_version", parentId: "prompt_1" }));
  expect(await used()).toBe(700);
  await commit(put("resp_1", 100));
  expect(await used()).toBe(500);
  await commit(remove("conv_1", "conversation", true));
  expect(await used()).toBe(200);
  await commit(create("resp_2", 400, { expiresAtMs: 5n }));
  await removeOldRecords(platform.deps.clock.now(), platform.deps);
  expect(await used()).toBe(200);
});

test("a commit that would exceed the limit is refused with a way out, and parallel ones cannot exceed it together", async () => {
  const results = await Promise.allSettled(Array.from({ length: 8 }, (_, index) => commit(create(`resp_${index}`, 300))));
  expect(results.filter(({ status }) => status === "fulfilled")).toHaveLength(3);
  expect(await used()).toBe(900);
  const full = { code: "PAYLOAD_TOO_LARGE", param: "store", message: expect.stringContaining("store: false") };
  await expect(commit(create("resp_more", 101))).rejects.toMatchObject(full);
  expect(await used()).toBe(900);
  await commit(create("resp_more", 100));
});

test("the result of claimed work is stored beyond the limit, because it is paid for", async () => {
  await commit(create("resp_1", 900, { dueAtMs: BigInt(platform.deps.clock.now() + 60_000), claim: "c" }));
  const item = create("item_1", 500, { kind: "conversation_item", parentId: "conv_1" });
  await commit(put("resp_1", 2000, { claim: "c" }), item);
  expect(await used()).toBe(2500);
});
