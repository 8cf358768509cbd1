import { randomUUID } from "node:crypto";
import { AppError } from "../../../common/errors.ts";
import { removeOldRecords, UNOWNED_MS } from "../../jobs/remove-records.ts";
import { fileBytes } from "../../writes/file-bytes.ts";
import { commitRecords } from "../../writes/records.ts";
import { organizationsHandlers } from "../organizations/service.ts";
import { openPlatform, type Platform } from "../platform-fixture.ts";
import { putContent } from "./content.ts";
import { recordsHandlers } from "./service.ts";

const LIMIT = 1000;
let platform: Platform;
beforeEach(async () => {
  platform = await openPlatform({ FILES_BYTES_MAX_PER_ORGANIZATION: String(LIMIT) });
});
afterEach(() => platform.close());

const used = () => fileBytes(platform.deps.store, platform.organization.id);
const first = (id: string, { bytes = 0, isTemporary = false, teamId = platform.team.id } = {}) => ({
  ...{ teamId, id, chunk: Buffer.alloc(0), bytes: BigInt(bytes), isTemporary },
});
type Options = Parameters<typeof first>[1] & { fails?: boolean };

/** Uploads content in chunks of 10 bytes. */
async function upload(size: number, options: Options = {}, id: string = randomUUID()): Promise<string> {
  async function* messages() {
    yield first(id, options);
    for (let left = size; left > 0; left -= 10) {
      yield { ...first(""), teamId: "", chunk: Buffer.alloc(Math.min(10, left), id) };
    }
    if (options.fails) throw new AppError("INVALID_REQUEST", "broken off");
  }
  await putContent(platform.deps, messages());
  return id;
}

const write = (writes: Parameters<typeof commitRecords>[1]["writes"]) =>
  platform.deps.store.transaction("every", (tx) => commitRecords(tx, { teamId: platform.team.id, writes }, platform.deps.clock.now()));
const own = (id: string) => {
  const { id: organizationId } = platform.organization;
  const record = { id, kind: "file", organizationId, keyId: "key_1", body: "{}", createdAt: platform.deps.clock.now() };
  return write([{ type: "create", record }]);
};

test("bytes are counted with the upload and given back with the deletion, and all teams of the organization share them", async () => {
  const id = await upload(300);
  await own(id);
  await upload(200, { teamId: platform.team.id });
  expect(await used()).toBe(500);
  const { filesUsed, filesLimit } = await organizationsHandlers(platform.deps).getStorage({}, platform.as("owner"));
  expect([filesUsed, filesLimit]).toEqual([500n, 1000n]);
  await recordsHandlers(platform.deps).commitRecords(
    {
      teamId: platform.team.id,
      writes: [{ write: { $case: "remove", value: { kind: "file", id, expectedRevision: undefined, withChildren: false } } }],
    },
    platform.as("anonymous"),
  );
  expect(await used()).toBe(200);
});

test.each([
  ["announced", { bytes: 150 }, 6],
  // They may all come to the limit at the same time.
  ["not announced", {}, 0],
])("parallel uploads whose size is %s cannot pass the limit together", async (_, options, least) => {
  const results = await Promise.allSettled(Array.from({ length: 10 }, () => upload(150, options)));
  const stored = results.filter(({ status }) => status === "fulfilled").length;
  expect(stored).toBeGreaterThanOrEqual(least);
  expect(stored).toBeLessThanOrEqual(6);
  expect(await used()).toBe(stored * 150);
  const refused = results.find((result) => result.status === "rejected");
  expect(refused?.reason).toMatchObject({ code: "PAYLOAD_TOO_LARGE", message: expect.stringContaining(`exceed the limit of ${LIMIT}`) });
  // What is left can be used to the last byte.
  await upload(LIMIT - stored * 150);
  expect(await used()).toBe(LIMIT);
  await expect(upload(1)).rejects.toThrow("Your organization has 1000 bytes of files, and this one would exceed the limit of 1000");
});

test("an upload that breaks off gives its bytes back, and one that replaces content counts once", async () => {
  await expect(upload(400, { bytes: 400, fails: true })).rejects.toThrow("broken off");
  expect(await used()).toBe(0);
  const id = await upload(400);
  await expect(upload(700, { fails: true }, id)).rejects.toThrow("broken off");
  expect(await used()).toBe(400);
  await upload(900, {}, id);
  expect(await used()).toBe(900);
});

test("a part of a batch's results is counted and not refused", async () => {
  await upload(1500, { isTemporary: true });
  expect(await used()).toBe(1500);
  await expect(upload(1)).rejects.toMatchObject({ code: "PAYLOAD_TOO_LARGE" });
});

test("what a control plane that died had reserved is given back with its row", async () => {
  const { store, clock } = platform.deps;
  await expect(upload(800, { bytes: 800, fails: true }, "lost")).rejects.toThrow("broken off");
  // As the process would have left it.
  await store.transaction("every", async (tx) => {
    await tx.put("contents", { id: `${platform.team.id}/lost`, bytes: 800, unownedAt: clock.now() });
    await tx.put("storage", { id: platform.organization.id, fileBytes: 800 });
  });
  await expect(upload(300)).rejects.toMatchObject({ code: "PAYLOAD_TOO_LARGE" });
  await removeOldRecords(clock.now() + UNOWNED_MS + 1, { store });
  expect(await used()).toBe(0);
});

test("files that are older than the sum are added up once", async () => {
  const { store } = platform.deps;
  await upload(300);
  await upload(200);
  await store.transaction("every", (tx) => tx.remove("storage", platform.organization.id));
  expect(await used()).toBe(500);
  await expect(upload(501, { bytes: 501 })).rejects.toMatchObject({ code: "PAYLOAD_TOO_LARGE" });
  await upload(500, { bytes: 500 });
  expect(await used()).toBe(1000);
});
