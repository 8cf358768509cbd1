import { silentLogger } from "../../common/logger.ts";
import { putContent } from "../services/records/content.ts";
import type { Store } from "../stores/store.ts";
import { openTestStore } from "../stores/test-store.ts";
import { commitRecords } from "../writes/records.ts";
import { removeOldRecords, UNOWNED_MS } from "./remove-records.ts";

const NOW = 1_700_000_000_000;
const teamId = "team_1";

let store: Store;
let close: () => Promise<void>;
beforeEach(() => {
  ({ store, close } = openTestStore());
});
afterEach(() => close());

const create = (id: string, fields: { expiresAt?: number; parentId?: string } = {}) =>
  store.transaction("every", (tx) => {
    const record = { id, kind: "file", organizationId: "org_1", keyId: "key_1", body: "{}", createdAt: NOW, ...fields };
    return commitRecords(tx, { teamId, writes: [{ type: "create", record }] }, NOW);
  });

async function upload(id: string): Promise<void> {
  async function* messages() {
    yield { teamId, id, chunk: Buffer.from("bytes"), bytes: 0n, isTemporary: false };
  }
  const clock = { now: () => NOW } as never;
  await putContent({ store, clock, logger: silentLogger, config: { filesBytesMax: 1000 } }, messages());
}

const isKept = async (id: string) => [
  (await store.get("records", id)) !== undefined,
  (await store.blobs.get(`records/${teamId}/${id}`)) !== undefined,
];

test("what has expired goes, with everything below it and its bytes; what has not stays", async () => {
  for (const id of ["old", "child", "young"]) await upload(id);
  await create("old", { expiresAt: NOW + 10 });
  await create("child", { parentId: "old" });
  await create("young", { expiresAt: NOW + 2 * UNOWNED_MS });
  await removeOldRecords(NOW + 5, { store });
  expect(await isKept("old")).toEqual([true, true]);
  await removeOldRecords(NOW + 11, { store });
  expect([await isKept("old"), await isKept("child"), await isKept("young")].map(([record]) => record)).toEqual([false, false, true]);
  await removeOldRecords(NOW + 12 + UNOWNED_MS, { store });
  expect([await isKept("old"), await isKept("child")]).toEqual([
    [false, false],
    [false, false],
  ]);
  expect([await isKept("young"), await store.count("contents")]).toEqual([[true, true], 1]);
});

test("bytes that never became a file go once an upload could not be under way any more; a file's bytes stay", async () => {
  await upload("lost");
  await upload("kept");
  await create("kept");
  await removeOldRecords(NOW + UNOWNED_MS, { store });
  expect(await isKept("lost")).toEqual([false, true]);
  await removeOldRecords(NOW + UNOWNED_MS + 1, { store });
  expect([await isKept("lost"), await isKept("kept")]).toEqual([
    [false, false],
    [true, true],
  ]);
});
