import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { StorageFull } from "./blob-owners.ts";
import { blobReader } from "./blob-reader.ts";
import { createBlobStore } from "./blob-store.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "blob-store-test-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const open = (bytesMaxPerTenant = 100) => createBlobStore({ folder, bytesMax: 1000, bytesMaxPerTenant });
const digestOf = (text: string) => createHash("sha256").update(text).digest("hex");
async function* chunks(...texts: string[]): AsyncGenerator<Buffer> {
  for (const text of texts) yield Buffer.from(text);
}
const blobFiles = () => readdirSync(folder).filter((name) => !name.startsWith("."));

test("a tenant finds only what it stored, the operator finds all, also after a restart and in a thread", async () => {
  const digest = digestOf("ann's");
  await open().put(digest, chunks("ann's"), { tenant: "org_ann" });
  for (const store of [open(), open()]) {
    expect(await store.find(digest, "org_ann")).toMatchObject({ bytes: 5 });
    expect(await store.find(digest)).toMatchObject({ bytes: 5 });
    expect(await store.find(digest, "org_bob")).toBeUndefined();
  }
  expect(blobReader(folder, "org_ann")(digest)).toHaveLength(5);
  expect(blobReader(folder, "")(digest)).toHaveLength(5);
  expect(() => blobReader(folder, "org_bob")(digest)).toThrow(expect.objectContaining({ kind: "BLOB_NOT_FOUND" }));
});

test("the same bytes of two tenants are one file that each of them owns, until the last one deletes it", async () => {
  const store = open();
  const digest = digestOf("same");
  expect(await store.put(digest, chunks("same"), { tenant: "org_ann" })).toBe("created");
  expect(await store.put(digest, chunks("same"), { tenant: "org_bob" })).toBe("created");
  expect([store.use("org_ann").used, store.use("org_bob").used, blobFiles().length]).toEqual([4, 4, 1]);
  expect([store.remove(digest, "org_ann"), store.remove(digest, "org_ann")]).toEqual([true, false]);
  expect([await store.find(digest, "org_ann"), store.use("org_ann").used]).toEqual([undefined, 0]);
  expect(await store.find(digest, "org_bob")).toMatchObject({ bytes: 4 });
  expect(store.remove(digest, "org_bob")).toBe(true);
  expect(blobFiles()).toEqual([]);
});

test("a tenant that knows only the hash becomes no owner: the bytes have to match", async () => {
  const store = open();
  const digest = digestOf("secret");
  await store.put(digest, chunks("secret"), { tenant: "org_ann" });
  await expect(store.put(digest, chunks("guess"), { tenant: "org_bob" })).rejects.toMatchObject({ kind: "VALIDATION_ERROR" });
  expect([await store.find(digest, "org_bob"), store.use("org_bob").used]).toEqual([undefined, 0]);
});

test("a tenant's deletion leaves what the operator stored", async () => {
  const store = open();
  const digest = digestOf("shared");
  await store.put(digest, chunks("shared"));
  await store.put(digest, chunks("shared"), { tenant: "org_ann" });
  store.remove(digest, "org_ann");
  expect(await store.find(digest)).toMatchObject({ bytes: 6 });
  expect(store.remove(digest)).toBe(true);
  expect(blobFiles()).toEqual([]);
});

test("parallel uploads cannot pass a tenant's limit together, and a refused one gives its bytes back", async () => {
  const store = open(100);
  const texts = Array.from({ length: 10 }, (_, index) => `${index}`.repeat(15));
  const stored = await Promise.allSettled(
    texts.map((text) => store.put(digestOf(text), chunks(text.slice(0, 7), text.slice(7)), { tenant: "org_ann" })),
  );
  const refused = stored.filter((result) => result.status === "rejected");
  expect(refused.every(({ reason }) => reason instanceof StorageFull && reason.status === 413)).toBe(true);
  expect(refused.length).toBeGreaterThanOrEqual(4);
  expect(store.use("org_ann")).toEqual({ used: (10 - refused.length) * 15, limit: 100 });
  expect(blobFiles()).toHaveLength(10 - refused.length);
  // Others are not affected, the same blob again costs nothing, and freed bytes can be used.
  await store.put(digestOf("bob"), chunks("bob"), { tenant: "org_bob" });
  const [kept = ""] = texts.filter((_, index) => stored[index]?.status === "fulfilled");
  expect(await store.put(digestOf(kept), chunks(kept), { tenant: "org_ann" })).toBe("there");
  for (const text of texts) store.remove(digestOf(text), "org_ann");
  expect(store.use("org_ann").used).toBe(0);
  const large = "x".repeat(100);
  expect(await store.put(digestOf(large), chunks(large), { tenant: "org_ann" })).toBe("created");
  await expect(store.put(digestOf("y"), chunks("y"), { tenant: "org_ann" })).rejects.toThrow(
    "Your organization has 100 bytes of blobs here, and this one would exceed the limit of 100 (BLOBS_BYTES_MAX_PER_ORGANIZATION)",
  );
  expect(open(100).use("org_ann").used).toBe(100);
});

test("announced bytes are reserved before the first one comes", async () => {
  const store = open(100);
  const [begun, sent] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  async function* slow(): AsyncGenerator<Buffer> {
    begun.resolve();
    await sent.promise;
    yield Buffer.alloc(60);
  }
  const digest = createHash("sha256").update(Buffer.alloc(60)).digest("hex");
  const first = store.put(digest, slow(), { tenant: "org_ann", bytes: 60 });
  await begun.promise;
  await expect(store.put(digestOf("b"), chunks("b".repeat(60)), { tenant: "org_ann", bytes: 60 })).rejects.toBeInstanceOf(StorageFull);
  sent.resolve();
  expect(await first).toBe("created");
  expect(store.use("org_ann")).toEqual({ used: 60, limit: 100 });
});

test("a blob of an earlier release belongs to the tenant of its note, else to the operator; an owner without a blob is dropped", async () => {
  const [noted, old, lost] = [digestOf("noted"), digestOf("old"), digestOf("lost")];
  writeFileSync(join(folder, noted), "noted");
  writeFileSync(join(folder, `.tenant-${noted}`), "org_ann");
  writeFileSync(join(folder, old), "old");
  mkdirSync(join(folder, ".owners/t-org_ann"), { recursive: true });
  writeFileSync(join(folder, `.owners/t-org_ann/${lost}.4.stored`), "");
  for (const store of [open(), open()]) {
    expect(await store.find(noted, "org_ann")).toMatchObject({ bytes: 5 });
    expect([await store.find(noted, "org_bob"), await store.find(old, "org_ann")]).toEqual([undefined, undefined]);
    expect([store.use("org_ann").used, store.use("").used]).toEqual([5, 3]);
  }
  const store = open();
  await store.put(old, chunks("old"), { tenant: "org_bob" });
  expect(await store.find(old, "org_bob")).toMatchObject({ bytes: 3 });
});

test("no tenant's name becomes a path", async () => {
  const store = open();
  const digest = digestOf("x");
  await store.put(digest, chunks("x"), { tenant: "../../evil" });
  expect(await store.find(digest, "../../evil")).toMatchObject({ bytes: 1 });
  expect(readdirSync(join(folder, ".owners"))).toEqual([expect.stringMatching(/^h-[0-9a-f]{64}$/)]);
});
