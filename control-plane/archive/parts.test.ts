import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { setImmediate as nextTurn } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { openFolderObjects } from "../../common/objects/folder-objects.ts";
import { readControlConfig } from "../config.ts";
import { Parts } from "./parts.ts";

const folder = mkdtempSync(join(tmpdir(), "tributary-parts-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const archive = join(folder, "archive");
const partsOf = (writer: string) => new Parts({ objects: openFolderObjects(archive), workFile: join(folder, writer) });
const SERIES = "usage/2026-08/org_1";

/** Pages of two rows. */
async function* pagesOf(...ids: string[]): AsyncGenerator<{ id: string }[]> {
  for (let first = 0; first < ids.length; first += 2) yield ids.slice(first, first + 2).map((id) => ({ id }));
}

async function idsIn(parts: Parts, key: string): Promise<string[]> {
  await parts.check(key);
  const ids: string[] = [];
  for await (const batch of parts.read<{ id: string }>(key, 2)) {
    expect(batch.length).toBeLessThanOrEqual(2);
    ids.push(...batch.map(({ id }) => id));
  }
  return ids;
}

test("two writers of one number never replace each other's part, and the next part has the number after it", async () => {
  const [owner, late] = [partsOf("owner"), partsOf("late")];
  const first = await owner.write(SERIES, { after: [], pages: pagesOf("a", "b") });
  await late.write(SERIES, { after: [], pages: pagesOf("a") });
  const found = await owner.list(SERIES);
  expect(await idsIn(owner, first)).toEqual(["a", "b"]);
  expect((await Promise.all(found.map((key) => idsIn(owner, key)))).sort()).toEqual([["a"], ["a", "b"]]);
  expect(await owner.write(SERIES, { after: found, pages: pagesOf("c") })).toMatch(/org_1\.2\.[0-9a-f]{16}\.jsonl\.gz$/);
});

test("a part of a release without the hash in its name is read, and belongs to its series only", async () => {
  const parts = partsOf("old");
  const key = "usage/2026-08/org_10.1.jsonl.gz";
  writeFileSync(join(archive, key), gzipSync('{"id":"old"}\n'));
  expect(await parts.list("usage/2026-08/org_10")).toEqual([key]);
  expect(await idsIn(parts, key)).toEqual(["old"]);
  expect(await parts.list(SERIES)).not.toContain(key);
});

test("a row may have the line separators of Unicode and any other characters", async () => {
  const parts = partsOf("separators");
  const ids = ["a\u2028b", "c\u2029d", "e\rf\ng\u0085", "é€😀".repeat(50_000), ""];
  const key = await parts.write("usage/2026-08/org_2", { after: [], pages: pagesOf(...ids) });
  expect(await idsIn(parts, key)).toEqual(ids);
});

/** Parts whose content is a stream. */
function partsFrom(content: Readable): Parts {
  const objects = { ...openFolderObjects(archive), open: async () => content };
  return new Parts({ objects, workFile: join(folder, "streamed") });
}

/** Compressed rows of random ids, so that a reader waits for more of them after the first chunk. */
const manyRows = () => gzipSync(Array.from({ length: 20_000 }, () => `${JSON.stringify({ id: randomUUID() })}\n`).join(""));

// A rejection that nobody handles ends the process that runs this test, as it would end the control plane.
test("a storage that fails within a part, while nobody waits for its next row, fails the next read and nothing else", async () => {
  const content = new Readable({ read() {} });
  content.push(manyRows().subarray(0, 100_000));
  const rows = partsFrom(content).read<{ id: string }>("usage/2026-08/org_3.1.jsonl.gz", 1);
  expect((await rows.next()).value?.[0]?.id).toHaveLength(36);
  content.destroy(new Error("the connection was lost"));
  for (let turn = 0; turn < 10; turn++) await nextTurn();
  await expect(Array.fromAsync(rows)).rejects.toThrow("the connection was lost");
});

test("a part whose reader leaves early is closed", async () => {
  const bytes = manyRows();
  const content = new Readable({ read: () => content.push(bytes.subarray(0, 100_000)) });
  for await (const [row] of partsFrom(content).read<{ id: string }>("usage/2026-08/org_3.1.jsonl.gz", 1)) {
    expect(row?.id).toHaveLength(36);
    break;
  }
  expect(content.destroyed).toBe(true);
  for (let turn = 0; turn < 10; turn++) await nextTurn();
});

test("an archive has one place, and a bucket needs its keys", () => {
  const problemOf = (environment: Record<string, string>) => {
    try {
      readControlConfig(environment);
      return "";
    } catch (error) {
      return String(error);
    }
  };
  const bucket = { ARCHIVE_S3_BUCKET: "archive" };
  const keys = { AWS_ACCESS_KEY_ID: "key", AWS_SECRET_ACCESS_KEY: "secret" };
  expect(problemOf({ ...bucket, ...keys })).toBe("");
  expect(problemOf(bucket)).toContain("AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY: must be set with ARCHIVE_S3_BUCKET");
  expect(problemOf({ ...bucket, ...keys, ARCHIVE_DIR: "/archive" })).toContain("ARCHIVE_DIR, ARCHIVE_S3_BUCKET: set one of them");
});
