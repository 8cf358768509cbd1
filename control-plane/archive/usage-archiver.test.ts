import { createHash } from "node:crypto";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { systemClock } from "../../common/clock.ts";
import { silentLogger } from "../../common/logger.ts";
import { openFolderObjects } from "../../common/objects/folder-objects.ts";
import type { ObjectStore } from "../../common/objects/object-store.ts";
import { openS3Objects } from "../../common/objects/s3-objects.ts";
import { type ReplicaSet, requireMongod, startReplicaSet } from "../../test/helpers/mongod.ts";
import { type S3Server, startS3Server } from "../../test/helpers/s3-server.ts";
import { purchase, reportedCall, settle } from "../proof/ledger-fixture.ts";
import { checkLedger } from "../services/ledger/verify.ts";
import { openMongoStore } from "../stores/mongo/store.ts";
import { collect } from "../stores/page.ts";
import type { Store } from "../stores/store.ts";
import { openTestStore } from "../stores/test-store.ts";
import { Parts } from "./parts.ts";
import { UsageArchiver } from "./usage-archiver.ts";

const NOW = Date.UTC(2026, 10, 16);
const never = new AbortController().signal;
const KEPT_DAYS = 60;
/** The first month that stays. */
const SEPTEMBER = Date.UTC(2026, 8);
const HOUR = 3_600_000;
/** Some uses of the store around the first commits; the embedded store fails at all of them. */
const MONGO_STEPS = [5, 6, 7, 8, 9];

const folder = mkdtempSync(join(tmpdir(), "tributary-archive-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let archives = 0;
const newArchive = (): ObjectStore => openFolderObjects(join(folder, `archive-${archives++}`));

const partsOf = (objects: ObjectStore) => new Parts({ objects, workFile: join(folder, "part") });
const archiverOf = (store: Store, archive: ObjectStore, usageKeptDays: number | undefined = KEPT_DAYS) =>
  new UsageArchiver(
    { store, clock: { sleep: async () => {} }, logger: silentLogger, parts: partsOf(archive), config: { usageKeptDays } },
    { partRows: 15, rowsATransaction: 10 },
  );

const callsOf = (organizationId: string, { count, from, stepMs }: { count: number; from: number; stepMs: number }) =>
  Array.from({ length: count }, (_, place) =>
    reportedCall(`call_${organizationId}_${from + place * stepMs}`, BigInt(place % 3), {
      organizationId,
      createdAt: from + place * stepMs,
    }),
  );

/** Two organizations with calls of August and September; every third call is free. */
async function fill(store: Store): Promise<void> {
  for (const id of ["org_1", "org_2"]) {
    await store.transaction("every", (tx) => tx.put("organizations", { id, name: id, createdAt: 1 } as never));
    await purchase(store, { organizationId: id, amount: 1_000_000n, reference: `pur_${id}` });
  }
  await settle(store, callsOf("org_1", { count: 33, from: Date.UTC(2026, 7), stepMs: HOUR }));
  await settle(store, callsOf("org_1", { count: 10, from: SEPTEMBER, stepMs: HOUR }));
  await settle(store, callsOf("org_2", { count: 20, from: SEPTEMBER - 10 * HOUR, stepMs: HOUR }));
}

interface Line {
  readonly id: string;
  readonly createdAt: number;
}

/** The objects of an archive whose key ends so, sorted. */
async function keysOf(archive: ObjectStore, ending: string): Promise<string[]> {
  const keys: string[] = [];
  for await (const { key } of archive.list("")) if (key.endsWith(ending)) keys.push(key);
  return keys.sort();
}

async function bytesOf(archive: ObjectStore, key: string): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of (await archive.open(key)) ?? []) chunks.push(Buffer.from(chunk as Uint8Array));
  return Buffer.concat(chunks);
}

/** The rows of all parts, each part checked against its sum. */
async function archived(archive: ObjectStore): Promise<Line[]> {
  for (const key of await keysOf(archive, ".jsonl.gz")) {
    const sum = createHash("sha256")
      .update(await bytesOf(archive, key))
      .digest("hex");
    expect((await bytesOf(archive, `${key}.sha256`)).toString()).toBe(`${sum}  ${key.split("/").at(-1)}\n`);
    expect(key).toContain(`.${sum.slice(0, 16)}.`);
  }
  return archivedSoFar(archive);
}

/** The rows of the parts that have their name, whether they have a sum or not. */
async function archivedSoFar(archive: ObjectStore): Promise<Line[]> {
  const parts = await Promise.all((await keysOf(archive, ".jsonl.gz")).map((key) => bytesOf(archive, key)));
  return parts.flatMap((bytes) => {
    const lines = gunzipSync(bytes).toString().trimEnd().split("\n");
    return lines.map((line) => JSON.parse(line) as Line);
  });
}

/** Parts without the hash in their names. */
const shortNames = (keys: readonly string[]) => keys.map((key) => key.replace(/\.[0-9a-f]{16}\./, "."));

const idsOf = (rows: readonly { id: string }[]) => rows.map(({ id }) => id).sort();
const logOf = async (store: Store) => collect(store.scan("usage"));

/** Nothing is lost, nothing is in two places, the rows that stay are those of September, and the ledger verifies. */
async function expectArchived(store: Store, { archive, all }: { archive: ObjectStore; all: readonly string[] }): Promise<void> {
  const [kept, moved] = [await logOf(store), await archived(archive)];
  expect([...idsOf(kept), ...idsOf(moved)].sort()).toEqual(all);
  expect(kept.length).toBe(20);
  expect(kept.every(({ createdAt }) => createdAt >= SEPTEMBER)).toBe(true);
  expect(await checkLedger(store, never)).toMatchObject({ ok: true, firstBad: undefined });
}

async function archivesOldMonths(store: Store, archive = newArchive()): Promise<Awaited<ReturnType<typeof logOf>>> {
  await fill(store);
  const [rollups, ledger] = [await collect(store.scan("rollups")), await collect(store.scan("ledger"))];
  const rows = await logOf(store);
  const archiver = archiverOf(store, archive);
  await archiver.run(NOW, never);
  await expectArchived(store, { archive, all: idsOf(rows) });
  expect(archiver.figures).toEqual({ rows: 43, oldestAt: SEPTEMBER });
  expect(shortNames(await keysOf(archive, ""))).toEqual(
    ["org_1.1", "org_1.2", "org_1.3", "org_2.1"].flatMap((part) => ["", ".sha256"].map((sum) => `usage/2026-08/${part}.jsonl.gz${sum}`)),
  );
  expect([await collect(store.scan("rollups")), await collect(store.scan("ledger"))]).toEqual([rollups, ledger]);
  return rows;
}

describe("in the embedded store", () => {
  let store: Store;
  let close: () => Promise<void>;
  beforeEach(() => {
    ({ store, close } = openTestStore());
  });
  afterEach(() => close());

  test("whole months before USAGE_KEPT_DAYS are moved to files; roll-ups and ledger stay, and the ledger verifies", async () => {
    await archivesOldMonths(store);
  });

  test("without USAGE_KEPT_DAYS nothing is archived", async () => {
    await fill(store);
    const parts = partsOf(newArchive());
    const archiver = new UsageArchiver({ store, clock: systemClock, logger: silentLogger, parts, config: { usageKeptDays: undefined } });
    await archiver.run(NOW, never);
    expect((await logOf(store)).length).toBe(63);
  });

  test("a run that fails at any use of the store loses nothing and archives nothing twice", async () => {
    await fill(store);
    const rows = await logOf(store);
    let failures = 0;
    while (await failsAndGoesOn(store, { rows, step: failures + 1 })) failures++;
    expect(failures).toBeGreaterThan(15);
  });

  test("a part whose sum was not yet written gets it, one that differs from its sum removes nothing", async () => {
    await fill(store);
    const rows = await logOf(store);
    const archive = newArchive();
    await archiverOf(store, archive).run(NOW, never);
    const [, part = ""] = await keysOf(archive, ".jsonl.gz");
    await putBack(store, rows);
    await putText(archive, `${part}.sha256`, `${"0".repeat(64)}  ${part.split("/").at(-1)}\n`);
    await expect(archiverOf(store, archive).run(NOW, never)).rejects.toThrow(
      /org_1\.2\.[0-9a-f]{16}\.jsonl\.gz in the folder .* differs from its SHA-256/,
    );
    await archive.remove(`${part}.sha256`);
    await archiverOf(store, archive).run(NOW, never);
    await expectArchived(store, { archive, all: idsOf(rows) });
  });

  test("a row that is settled after its month was archived goes to the next part", async () => {
    await fill(store);
    const archive = newArchive();
    await archiverOf(store, archive).run(NOW, never);
    await settle(store, [reportedCall("call_late", 5n, { createdAt: Date.UTC(2026, 7, 3) })], NOW);
    const all = [...idsOf(await logOf(store)), ...idsOf(await archived(archive))].sort();
    await archiverOf(store, archive).run(NOW, never);
    await expectArchived(store, { archive, all });
    expect(shortNames(await keysOf(archive, ".gz"))).toContain("usage/2026-08/org_1.4.jsonl.gz");
  });

  test("an archived call that is reported again is a repetition: it is not charged twice, and other calls of its batch are settled", async () => {
    await fill(store);
    await archiverOf(store, newArchive()).run(NOW, never);
    const [charged] = callsOf("org_1", { count: 2, from: Date.UTC(2026, 7), stepMs: HOUR }).slice(1);
    const balance = async () => (await store.get("accounts", "org:org_1"))?.balance ?? 0n;
    const before = await balance();
    const outcome = await settle(store, [charged as never, reportedCall("call_new", 7n, { createdAt: NOW })], NOW);
    expect(outcome).toMatchObject({ settled: 1, repeated: 1, refused: [] });
    expect(await balance()).toBe(before - 7n);
  });

  test("the verification finds a charged call that was removed without being archived", async () => {
    await fill(store);
    const archive = newArchive();
    await archiverOf(store, archive).run(NOW, never);
    const victim = (await logOf(store)).find(({ cost, organizationId }) => cost > 0n && organizationId === "org_1");
    await store.transaction("every", (tx) => tx.remove("usage", victim?.id ?? ""));
    const firstBad = async () => (await checkLedger(store, never)).firstBad;
    expect(await firstBad()).toMatchObject({ kind: "usage", record: `entry ${victim?.ledgerSeq}` });
    // A later entry of an old month is archived, so that only the count is wrong.
    await settle(store, [reportedCall("call_late", 5n, { createdAt: Date.UTC(2026, 7, 3) })], NOW);
    await archiverOf(store, archive).run(NOW, never);
    expect(await firstBad()).toMatchObject({ kind: "usage", record: "archive of org_1" });
  });

  test("the record of an organization's archive has the last entry of its rows, unless it began without", async () => {
    await fill(store);
    const rows = await logOf(store);
    const moved = rows.filter(({ createdAt, organizationId }) => createdAt < SEPTEMBER && organizationId === "org_1");
    await archiverOf(store, newArchive()).run(NOW, never);
    const last = Math.max(...moved.map(({ ledgerSeq = 0 }) => ledgerSeq));
    expect(await store.get("usageArchives", "org_1")).toMatchObject({ rows: 33, charged: 22, lastSeq: last });
    await putBack(store, rows);
    const old = { id: "org_1", organizationId: "org_1", before: 0, rows: 0, charged: 0, cost: 0n };
    await store.transaction("every", (tx) => tx.put("usageArchives", old));
    await archiverOf(store, newArchive()).run(NOW, never);
    expect(await store.get("usageArchives", "org_1")).toEqual({ ...old, before: SEPTEMBER, rows: 33, charged: 22, cost: 33n });
  });
});

describe("to a bucket of an S3 server", () => {
  let server: S3Server;
  beforeAll(async () => {
    server = await startS3Server();
  }, 90_000);
  afterAll(() => server?.stop());

  const bucket = (prefix: string) => {
    const { bucket, endpoint, keys } = server;
    return openS3Objects({ bucket, endpoint, region: "us-east-1", prefix, keys, clock: systemClock });
  };

  test("whole months are moved, also after a run that failed before and after a commit", async () => {
    const { store, close } = openTestStore();
    try {
      const rows = await archivesOldMonths(store, bucket("first/"));
      for (const step of MONGO_STEPS) {
        const archive = bucket(`failed-${step}/`);
        expect(await failsAndGoesOn(store, { rows, step, archive })).toBe(true);
      }
    } finally {
      await close();
    }
  }, 60_000);

  test("rows stay in the log while the bucket cannot be written", async () => {
    const { store, close } = openTestStore();
    try {
      await fill(store);
      const { bucket: _, ...rest } = server;
      const none = openS3Objects({ ...rest, bucket: "no-such-bucket", region: "us-east-1", prefix: "", clock: systemClock });
      await expect(archiverOf(store, none).run(NOW, never)).rejects.toThrow(/NoSuchBucket/);
      expect((await logOf(store)).length).toBe(63);
      expect(readdirSync(folder)).not.toContain("part");
    } finally {
      await close();
    }
  });
});

describe("in MongoDB", () => {
  let set: ReplicaSet | undefined;
  let store: Store | undefined;
  beforeAll(async () => {
    if (!(await requireMongod())) return;
    set = await startReplicaSet({ nodes: 1, folder: join(folder, "mongo") });
    store = await openMongoStore({ uri: set.uri, database: "archive" });
  }, 60_000);
  afterAll(async () => {
    await store?.close();
    await set?.stop();
  });

  test("whole months are moved, also by a run that goes on where another one failed, before and after a commit", async () => {
    if (!store) return;
    const rows = await archivesOldMonths(store);
    for (const step of MONGO_STEPS) expect(await failsAndGoesOn(store, { rows, step })).toBe(true);
  }, 60_000);
});

/** Whether a run fails at a use of the store; if so, every row is still somewhere, and the next run goes on as if nothing had happened. */
async function failsAndGoesOn(
  store: Store,
  { rows, step, archive = newArchive() }: { rows: Awaited<ReturnType<typeof logOf>>; step: number; archive?: ObjectStore },
): Promise<boolean> {
  await putBack(store, rows);
  const failed = await archiverOf(failingAt(store, step), archive)
    .run(NOW, never)
    .then(
      () => false,
      (error: Error) => error.message === "killed",
    );
  const places = [...idsOf(await logOf(store)), ...idsOf(await archivedSoFar(archive))];
  expect(new Set(places)).toEqual(new Set(idsOf(rows)));
  await archiverOf(store, archive).run(NOW, never);
  await expectArchived(store, { archive, all: idsOf(rows) });
  return failed;
}

async function putText(archive: ObjectStore, key: string, text: string): Promise<void> {
  const path = join(folder, "text");
  writeFileSync(path, text);
  await archive.put(key, { path, bytes: text.length, sha256: createHash("sha256").update(text).digest("hex") });
}

/** As after the restore of a backup from before the archive. */
async function putBack(store: Store, rows: Awaited<ReturnType<typeof logOf>>): Promise<void> {
  await store.transaction("every", async (tx) => {
    for (const row of rows) await tx.put("usage", row);
    for (const id of ["org_1", "org_2"]) await tx.remove("usageArchives", id);
  });
}

/** A store whose n-th use fails, and every later one, as if the process had been killed; a transaction that fails may have been committed. */
function failingAt(store: Store, step: number): Store {
  let uses = 0;
  const use = () => {
    if (++uses >= step) throw new Error("killed");
  };
  const counted: Pick<Store, "scan" | "getMany" | "transaction"> = {
    scan: (...given) => {
      use();
      return store.scan(...given);
    },
    getMany: async (...given) => {
      use();
      return store.getMany(...given);
    },
    transaction: async (...given) => {
      use();
      const result = await store.transaction(...given);
      use();
      return result;
    },
  };
  const methodOf = (name: keyof Store) => {
    const value = store[name];
    return typeof value === "function" ? value.bind(store) : value;
  };
  return new Proxy(store, { get: (_, name) => (name in counted ? counted[name as keyof typeof counted] : methodOf(name as keyof Store)) });
}
