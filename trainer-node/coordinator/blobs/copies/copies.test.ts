import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock as clock } from "../../../../common/clock.ts";
import { silentLogger as logger } from "../../../../common/logger.ts";
import { openFolderObjects } from "../../../../common/objects/folder-objects.ts";
import { systemRandom as random } from "../../../../common/random.ts";
import { startServer } from "../../../server.ts";
import { createCoordinatorApp } from "../../http.ts";
import { createJoinedWork } from "../../participants/joined-work.ts";
import { type BlobFolder, openBlobFolder } from "../blob-folder.ts";
import { sweepBlobs } from "../sweep-blobs.ts";
import type { BlobCopies } from "./blob-copies.ts";
import { withCopies } from "./copied-folder.ts";
import { createPeerCopies } from "./peer-copies.ts";
import { createSharedCopies, sharedPlace } from "./shared-copies.ts";

const NOBODY = "http://127.0.0.1:1";
const REFERENCED = { isReferenced: true };
const NEW = { isReferenced: false };
const stops: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "tributary-copies-"));
  stops.push(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

interface Coordinator {
  readonly own: BlobFolder;
  blobs: BlobFolder;
  readonly url: string;
}

/** A coordinator with a folder of its own, as its HTTP API shows it. */
async function startCoordinator(copiesOf: (folder: string) => BlobCopies): Promise<Coordinator> {
  const folder = newFolder();
  const own = openBlobFolder({ folder, bytesMax: 1000, durable: false });
  const blobs = withCopies(own, { copies: copiesOf(folder), logger });
  const unused = () => Promise.reject(new Error("not in this test"));
  const app = createCoordinatorApp({
    ...{ blobs, folder: own, self: folder, work: createJoinedWork({ clock }), clock, random, logger, token: undefined },
    ...{
      verify: unused,
      replay: unused,
      participants: { capabilities: unused },
      functions: { serve: unused, servers: unused },
      health: () => ({ status: "ok" }),
    },
    ...{ state: () => "ready", stopping: new AbortController().signal },
  });
  const server = await startServer(app, { host: "127.0.0.1", port: 0 });
  stops.push(() => server.stop());
  return { own, blobs, url: `http://127.0.0.1:${server.port}` };
}

function peers(addresses: readonly string[], { copies = 2, lostMs = 300 } = {}): BlobCopies {
  return createPeerCopies({ peers: addresses, self: "me", copies, lostMs, token: undefined, fetch, clock, logger });
}

/** Coordinators that are each other's peers: their addresses are known when all listen. */
async function startPeers(count: number, { copies = 2 } = {}): Promise<Coordinator[]> {
  const all: Coordinator[] = [];
  for (let index = 0; index < count; index++) {
    const later = (): BlobCopies => {
      const others = all.filter((_, other) => other !== index);
      return peers(
        others.map(({ url }) => url),
        { copies },
      );
    };
    all.push(
      await startCoordinator(() => ({
        put: (...args) => later().put(...args),
        open: (...args) => later().open(...args),
        drop: (...args) => later().drop(...args),
      })),
    );
  }
  return all;
}

async function startShared(count: number): Promise<Coordinator[]> {
  const objects = openFolderObjects(newFolder());
  return Promise.all(Array.from({ length: count }, () => startCoordinator((folder) => createSharedCopies({ objects, folder }))));
}

const get = async (url: string, sha256: string, tenant: string) =>
  (await fetch(`${url}/v1/blobs/${sha256}`, { headers: { "x-gw-tenant": tenant } })).status;

describe.each([
  ["coordinators that are peers", startPeers],
  ["coordinators with shared storage", startShared],
])("%s", (_name, start) => {
  test("a blob that one of them made and copied is read by the other, by its hash, and by no other tenant", async () => {
    const [first, second] = (await start(2)) as [Coordinator, Coordinator];
    const ann = first.blobs.of("org_ann");
    const { sha256 } = await ann.keepBytes(Buffer.from("an update"));
    await ann.copied([sha256], NEW);
    expect(await get(second.url, sha256, "org_bob")).toBe(404);
    expect(await get(second.url, sha256, "org_ann")).toBe(200);
    expect((await second.blobs.of("org_ann").read(sha256)).toString()).toBe("an update");
    expect(second.own.owners.use("org_ann").used).toBe(9);
  });

  test("what is hidden from its tenant is not shown to it by the other one either, which works with it", async () => {
    const [first, second] = (await start(2)) as [Coordinator, Coordinator];
    const hidden = first.blobs.of("org_ann", "hidden");
    const { sha256 } = await hidden.keepBytes(Buffer.from("an update"));
    await hidden.copied([sha256], NEW);
    expect(await get(second.url, sha256, "org_ann")).toBe(404);
    expect((await second.blobs.of("org_ann", "hidden").read(sha256)).toString()).toBe("an update");
    expect([await get(first.url, sha256, "org_ann"), await get(second.url, sha256, "org_ann")]).toEqual([404, 404]);
  });

  test("what was uploaded to one of them can be read from the other at once, and deleted at the first", async () => {
    const [first, second] = (await start(2)) as [Coordinator, Coordinator];
    const sha256 = createHash("sha256").update("uploaded").digest("hex");
    const headers = { "x-gw-tenant": "org_ann" };
    const stored = await fetch(`${first.url}/v1/blobs/${sha256}`, { method: "PUT", headers, body: "uploaded" });
    expect([stored.status, await get(second.url, sha256, "org_ann"), await get(second.url, sha256, "org_bob")]).toEqual([201, 200, 404]);
    expect((await fetch(`${first.url}/v1/blobs/${sha256}`, { method: "DELETE", headers })).status).toBe(204);
    expect((await fetch(`${first.url}/v1/blobs/${sha256}`, { method: "DELETE", headers })).status).toBe(404);
  });

  test("what none of them has is answered with 404, and work on it waits", async () => {
    const [first] = (await start(2)) as [Coordinator, Coordinator];
    const sha256 = "ab".repeat(32);
    expect(await get(first.url, sha256, "")).toBe(404);
    await expect(first.blobs.read(sha256)).rejects.toMatchObject({ waitingFor: `a coordinator that has the parameters ${sha256}` });
  });
});

test("two copies are made of an update, three if three are asked for", async () => {
  for (const copies of [2, 3]) {
    const all = await startPeers(3, { copies });
    const ann = (all[0] as Coordinator).blobs.of("org_ann");
    const { sha256 } = await ann.keepBytes(Buffer.from("update"));
    await ann.copied([sha256], NEW);
    const having = await Promise.all(all.map(({ own }) => own.find(sha256)));
    expect(having.filter((found) => found !== undefined)).toHaveLength(copies);
  }
});

test("a peer that is down for a moment is waited for; one that is lost is not, and is tried again later", async () => {
  const [peer] = (await startPeers(1)) as [Coordinator];
  const folder = newFolder();
  writeFileSync(join(folder, "file"), "content");
  const blob = { ...NEW, sha256: createHash("sha256").update("content").digest("hex"), tenant: "", path: join(folder, "file") };
  const made = { ...blob, bytes: 7, origin: "made" } as const;
  let isDown = true;
  const failing: typeof fetch = async (...asked) => (isDown ? Promise.reject(new Error("no route")) : fetch(...asked));
  let nowMs = 100_000;
  const waits: number[] = [];
  const virtual = {
    ...clock,
    monotonicMs: () => nowMs,
    sleep: async (milliseconds: number) => {
      nowMs += milliseconds;
      waits.push(milliseconds);
      if (nowMs === 100_500) isDown = false;
    },
  };
  const create = (lostMs: number) =>
    createPeerCopies({ peers: [peer.url], self: "me", copies: 2, lostMs, token: undefined, fetch: failing, clock: virtual, logger });
  await create(1000).put(made);
  expect([waits.length > 0, (await peer.own.find(made.sha256))?.bytes]).toEqual([true, 7]);

  isDown = true;
  nowMs = 200_000;
  const lossy = create(1000);
  const other = { ...made, sha256: "cd".repeat(32) };
  await lossy.put(other);
  expect(nowMs).toBe(201_000);
  const before = nowMs;
  await lossy.put(other);
  expect(nowMs).toBe(before);
  isDown = false;
  nowMs += 2_000;
  await lossy.put(made);
  expect(await peer.own.find(made.sha256)).toBeDefined();
});

test("a peer that refuses a blob is not waited for longer than one that does not answer", async () => {
  const [peer] = (await startPeers(1)) as [Coordinator];
  const path = join(newFolder(), "file");
  writeFileSync(path, "x".repeat(1001));
  const blob = { ...NEW, sha256: createHash("sha256").update("x".repeat(1001)).digest("hex"), tenant: "", path, bytes: 1001 };
  await peers([peer.url]).put({ ...blob, origin: "made" });
  expect(await peer.own.find(blob.sha256)).toBeUndefined();
});

test("its own address among its peers is no copy", async () => {
  const [own, other] = (await startPeers(2)) as [Coordinator, Coordinator];
  const { sha256 } = await own.own.keepBytes(Buffer.from("update"));
  const found = await own.own.find(sha256);
  const blob = { ...NEW, sha256, tenant: "", origin: "made", path: "", bytes: 0, ...found } as const;
  const self = own.own.folder;
  const addresses = [own.url, other.url];
  await createPeerCopies({ peers: addresses, self, copies: 2, lostMs: 300, token: undefined, fetch, clock, logger }).put(blob);
  expect(await other.own.find(sha256)).toBeDefined();
});

test("bytes that do not have the hash are not kept, and the next coordinator is asked", async () => {
  const liar = createServer((_request, response) => response.end("other bytes")).listen(0, "127.0.0.1");
  await once(liar, "listening");
  stops.push(() => void liar.close());
  const { port } = liar.address() as AddressInfo;
  const [honest] = (await startPeers(1)) as [Coordinator];
  const { sha256 } = await honest.own.keepBytes(Buffer.from("the bytes"));
  const { own, blobs } = await startCoordinator(() => peers([`http://127.0.0.1:${port}`, NOBODY, honest.url]));
  expect(await blobs.find("ab".repeat(32))).toBeUndefined();
  expect(readdirSync(own.folder).filter((name) => /^[0-9a-f]{64}$/.test(name))).toEqual([]);
  expect((await blobs.read(sha256)).toString()).toBe("the bytes");
});

test("storage that cannot be written makes work wait, and does not fail it", async () => {
  const broken = { ...openFolderObjects(newFolder()), put: () => Promise.reject(new Error("no space")) };
  const { blobs } = await startCoordinator((folder) => createSharedCopies({ objects: broken, folder }));
  const { sha256 } = await blobs.keepBytes(Buffer.from("update"));
  await expect(blobs.copied([sha256], NEW)).rejects.toMatchObject({
    waitingFor: "the storage of parameters, which cannot be written",
    internal: expect.stringContaining("no space"),
  });
});

test("a sweep of shared storage removes what nothing refers to, but not uploads, what is referred to, or what was stored again", async () => {
  const folder = newFolder();
  const objects = openFolderObjects(folder);
  const { blobs } = await startCoordinator((own) => createSharedCopies({ objects, folder: own }));
  const ann = blobs.of("org_ann");
  const kept = async (text: string) => (await ann.keepBytes(Buffer.from(text))).sha256;
  const [unused, used, again] = [await kept("unused"), await kept("used"), await kept("again")];
  await ann.copied([unused, used, again], NEW);
  const uploaded = await ann.keep(
    (async function* () {
      yield Buffer.from("uploaded");
    })(),
    { origin: "stored" },
  );
  for (const name of [unused, used, again, uploaded.sha256]) utimesSync(join(folder, "blobs", name), 1, 1);
  await ann.copied([again], NEW);
  await ann.copied([used], REFERENCED);
  const client = { listBlobUses: async () => ({ blobs: [used], next: "", oldestWorkAt: undefined }) };
  const removed = await sweepBlobs({ place: sharedPlace(objects), client, clock, ageMs: 60_000 }, new AbortController().signal);
  expect(removed).toEqual([unused]);
  expect(readdirSync(join(folder, "blobs")).sort()).toEqual([used, again, uploaded.sha256].sort());
});
