import { createHash, randomBytes } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable } from "node:stream";
import type { ObjectFile, ObjectStore } from "./object-store.ts";

/** The suite that every adapter of ObjectStore passes. `largeBytes` is a size that the adapter sends in several parts, if it has parts. */
export function objectStoreContract(name: string, open: () => ObjectStore, { largeBytes }: { largeBytes: number }): void {
  describe(name, () => {
    let folder = "";
    let store: ObjectStore;
    const fileOf = (content: Buffer): ObjectFile => {
      const sha256 = createHash("sha256").update(content).digest("hex");
      const path = join(folder, sha256);
      writeFileSync(path, content);
      return { path, bytes: content.byteLength, sha256 };
    };
    const keys = async (prefix: string): Promise<string[]> => {
      const found: string[] = [];
      for await (const { key } of store.list(prefix)) found.push(key);
      return found.sort();
    };
    beforeAll(() => {
      folder = mkdtempSync(join(tmpdir(), "tributary-objects-"));
      store = open();
    });
    afterAll(() => rmSync(folder, { recursive: true, force: true }));

    test("what was stored is read back, and again after it was replaced", async () => {
      await store.put("blobs/one", fileOf(Buffer.from("first")));
      expect((await contentOf(await store.open("blobs/one")))?.toString()).toBe("first");
      await store.put("blobs/one", fileOf(Buffer.from("the second")));
      expect((await contentOf(await store.open("blobs/one")))?.toString()).toBe("the second");
      expect(await store.size("blobs/one")).toBe(10);
    });

    test("an empty object is an object", async () => {
      await store.put("marks/empty", fileOf(Buffer.alloc(0)));
      expect(await store.size("marks/empty")).toBe(0);
      expect((await contentOf(await store.open("marks/empty")))?.byteLength).toBe(0);
    });

    test("a large object has the same bytes after it was sent in parts", async () => {
      const content = randomBytes(largeBytes);
      await store.put("blobs/large", fileOf(content));
      expect((await contentOf(await store.open("blobs/large")))?.equals(content)).toBe(true);
    });

    test("what is not there is undefined, and removing it is no error", async () => {
      expect(await store.open("blobs/none")).toBeUndefined();
      expect(await store.size("blobs/none")).toBeUndefined();
      await store.remove("blobs/none");
    });

    test("a removed object is gone", async () => {
      await store.put("blobs/removed", fileOf(Buffer.from("gone")));
      await store.remove("blobs/removed");
      expect(await store.open("blobs/removed")).toBeUndefined();
      expect(await keys("blobs/removed")).toEqual([]);
    });

    test("a list has the keys of its prefix, with the time of their last change", async () => {
      const before = Date.now();
      for (const key of ["owners/a/t-1.made", "owners/a/t-2.stored", "owners/ab/t-1.made"]) await store.put(key, fileOf(Buffer.alloc(0)));
      expect(await keys("owners/a/")).toEqual(["owners/a/t-1.made", "owners/a/t-2.stored"]);
      expect(await keys("owners/a/t-2")).toEqual(["owners/a/t-2.stored"]);
      expect(await keys("nothing/")).toEqual([]);
      for await (const { modifiedMs } of store.list("owners/")) expect(Math.abs(modifiedMs - before)).toBeLessThan(60_000);
    });

    test("a key that is no path of ours is refused", async () => {
      for (const key of ["", "../up", "a/../b", "/a", "a b", "a?b"]) await expect(store.size(key)).rejects.toThrow("is not a key");
    });
  });
}

async function contentOf(stream: Readable | undefined): Promise<Buffer | undefined> {
  if (!stream) return undefined;
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(Buffer.from(chunk as Uint8Array));
  return Buffer.concat(chunks);
}
