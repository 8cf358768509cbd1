import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { MongoClient } from "mongodb";
import { AppError } from "../../../common/errors.ts";
import { type ReplicaSet, startReplicaSet } from "../../../test/helpers/mongod.ts";
import type { LedgerEntry, UsageRow } from "../../domain/records.ts";
import { feedContract } from "../../feed/feed-contract.ts";
import { collect } from "../page.ts";
import type { Store } from "../store.ts";
import { storeContract } from "../store-contract.ts";
import { severalPlanes, team } from "./several-planes-contract.ts";
import { type MongoStoreOptions, openMongoStore } from "./store.ts";

const mongod = findMongod();
if (mongod) {
  process.env["MONGOD"] = mongod;
  withMongod();
} else {
  test("the MongoDB store is not tested here: this machine has no mongod", () => undefined);
}

function withMongod(): void {
  let set: ReplicaSet;
  let folder: string;
  let databases = 0;
  let opened: Store[] = [];

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "tributary-mongo-store-"));
    set = await startReplicaSet({ nodes: 1, folder: join(folder, "whole") });
  }, 60_000);
  afterEach(async () => {
    await Promise.all(opened.map((store) => store.close()));
    opened = [];
  });
  afterAll(async () => {
    await set?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const freshName = () => `test_${databases++}`;
  const open = async (database: string, options: Partial<MongoStoreOptions> = {}): Promise<Store> => {
    const store = await openMongoStore({ uri: set.uri, database, ...options });
    opened.push(store);
    return store;
  };
  const raw = async <T>(database: string, use: (database: ReturnType<MongoClient["db"]>) => Promise<T>): Promise<T> => {
    const client = new MongoClient(set.uri);
    try {
      return await use(client.db(database));
    } finally {
      await client.close();
    }
  };

  storeContract("mongo", async () => {
    const database = freshName();
    let store = await openMongoStore({ uri: set.uri, database });
    return {
      store,
      async reopen() {
        await store.close();
        store = await openMongoStore({ uri: set.uri, database });
        return store;
      },
      close: () => store.close(),
    };
  });

  feedContract("MongoDB", async () => {
    const database = freshName();
    const [left, right] = [await openMongoStore({ uri: set.uri, database }), await openMongoStore({ uri: set.uri, database })];
    return { left, right, close: async () => void (await Promise.all([left.close(), right.close()])) };
  });

  severalPlanes({ freshName, open, raw });

  describe("a transaction", () => {
    test("whose bulk meets a record that was there ends in ALREADY_EXISTS and writes nothing", async () => {
      const store = await open(freshName());
      await store.transaction("every", (tx) => tx.insert("ledger", ledgerEntry(1)));
      const duplicate = store.transaction("every", async (tx) => {
        const fresh = Array.from({ length: 30 }, (_, index) => ledgerEntry(index + 2));
        tx.insertNew("ledger", [...fresh, { ...ledgerEntry(99), reference: ledgerEntry(1).reference }]);
      });
      await expect(duplicate).rejects.toMatchObject({ code: "ALREADY_EXISTS" });
      expect(await store.count("ledger")).toBe(1);
      expect((await store.get("ledger", 1))?.hash).toBe(ledgerEntry(1).hash);
    });

    test("may catch ALREADY_EXISTS and go another way", async () => {
      const store = await open(freshName());
      await store.transaction("every", (tx) => tx.insert("counters", { id: "c", value: 1 }));
      const way = await store.transaction("every", async (tx) => {
        try {
          await tx.insert("counters", { id: "c", value: 5 });
          return "inserted";
        } catch (error) {
          expect(error).toMatchObject({ code: "ALREADY_EXISTS" });
          await tx.put("counters", { id: "c", value: 7 });
          return "put";
        }
      });
      expect([way, (await store.get("counters", "c"))?.value]).toEqual(["put", 7]);
    });

    test("may swap unique values, and may pass one on", async () => {
      const store = await open(freshName());
      await store.transaction("every", async (tx) => {
        await tx.insert("teams", team("team_1", { nameKey: "a" }));
        await tx.insert("teams", team("team_2", { nameKey: "b" }));
      });
      await store.transaction("every", async (tx) => {
        await tx.put("teams", team("team_1", { nameKey: "c" }));
        await tx.put("teams", team("team_2", { nameKey: "a" }));
        await tx.put("teams", team("team_1", { nameKey: "b" }));
      });
      expect((await store.find("teams", "byName", ["org_1", "a"]))?.id).toBe("team_2");
      expect((await store.find("teams", "byName", ["org_1", "b"]))?.id).toBe("team_1");
    });

    test("passes on unchanged what its work throws, and an error that is not the driver's is not tried again", async () => {
      const store = await open(freshName());
      const own = new AppError("NOT_FOUND", "There is no such team.");
      let runs = 0;
      const failing = store.transaction("every", async (tx) => {
        runs++;
        await tx.put("counters", { id: "c", value: 1 });
        throw own;
      });
      await expect(failing).rejects.toBe(own);
      expect(runs).toBe(1);
    });

    test("of 1,000 new records takes less than 200 ms", async () => {
      const store = await open(freshName());
      const times: number[] = [];
      for (let run = 0; run < 5; run++) {
        const startedAt = performance.now();
        await store.transaction("every", async (tx) => {
          const numbers = Array.from({ length: 500 }, (_, index) => run * 500 + index + 1);
          tx.insertNew(
            "usage",
            numbers.map((number) => usageRow(number)),
          );
          tx.insertNew("ledger", numbers.map(ledgerEntry));
        });
        times.push(performance.now() - startedAt);
      }
      expect(Math.min(...times)).toBeLessThan(200);
      expect(await store.count("ledger")).toBe(2_500);
    });

    test("that waits too long for its turn or its work is answered in time, and does not write afterwards", async () => {
      const database = freshName();
      const store = await open(database, { transactionMs: 400 });
      const held = Promise.withResolvers<void>();
      const slow = store.transaction("every", async (tx) => {
        await held.promise;
        await tx.put("counters", { id: "slow", value: 1 });
      });
      const queued = store.transaction("every", (tx) => tx.put("counters", { id: "queued", value: 1 }));
      const startedAt = performance.now();
      await expect(slow).rejects.toMatchObject({ code: "DB_TIMEOUT", retryAfterSeconds: 1 });
      await expect(queued).rejects.toMatchObject({ code: "DB_TIMEOUT" });
      expect(performance.now() - startedAt).toBeLessThan(650);
      held.resolve();
      // Closing waits for what still runs.
      await store.close();
      expect(await (await open(database)).count("counters")).toBe(0);
    });
  });

  describe("a scan", () => {
    test("goes on from a position among equal values, and from one whose record is gone", async () => {
      const store = await open(freshName());
      await store.transaction("every", async (tx) => {
        for (let index = 0; index < 9; index++) await tx.insert("usage", usageRow(index, { createdAt: index < 6 ? 5 : 6 }));
      });
      const all = await collect(store.scan("usage", { index: "byOrganization", equals: ["org_1"] }));
      await store.transaction("every", (tx) => tx.remove("usage", all[3]?.id ?? ""));
      const after = ["org_1", 5, all[3]?.id ?? ""];
      const ids = async (reverse: boolean) =>
        (await collect(store.scan("usage", { index: "byOrganization", equals: ["org_1"], after, reverse }))).map(({ id }) => id);
      expect(await ids(false)).toEqual(all.slice(4).map(({ id }) => id));
      expect(await ids(true)).toEqual(
        all
          .slice(0, 3)
          .map(({ id }) => id)
          .reverse(),
      );
    });

    test("of an index that names the id, and of a unique one, keeps their order", async () => {
      const store = await open(freshName());
      await store.transaction("every", async (tx) => {
        for (const id of [3, 1, 2]) await tx.insert("ledger", ledgerEntry(id));
      });
      const ledger = (range: object) => collect(store.scan("ledger", { index: "byOrganization", equals: ["org_1"], ...range }));
      expect((await ledger({ after: ["org_1", 1, 1] })).map(({ id }) => id)).toEqual([2, 3]);
      expect((await ledger({ before: 3, reverse: true })).map(({ id }) => id)).toEqual([2, 1]);
      const references = await collect(store.scan("ledger", { index: "byReference", reverse: true, limit: 2 }));
      expect(references.map(({ id }) => id)).toEqual([3, 2]);
      expect(await store.count("ledger", { index: "byReference", from: "call_2" })).toBe(2);
    });

    test("does not meet records that lack a field of the index", async () => {
      const store = await open(freshName());
      await store.transaction("every", async (tx) => {
        await tx.insert("keys", { ...key("key_1"), previousHash: "old" });
        await tx.insert("keys", key("key_2"));
        const { createdAt: _, ...unfinished } = key("key_3");
        await tx.insert("keys", unfinished as ReturnType<typeof key>);
      });
      expect(await store.count("keys", { index: "byPreviousHash" })).toBe(1);
      expect(await store.count("keys", { index: "byTeam", equals: ["team_1"] })).toBe(2);
      expect((await collect(store.scan("keys", { index: "byTeam" }))).map(({ id }) => id)).toEqual(["key_1", "key_2"]);
    });
  });

  describe("opening", () => {
    test("refuses an index that is not the one it needs", async () => {
      const database = freshName();
      await (await open(database)).close();
      opened = [];
      await raw(database, async (db) => {
        await db.collection("teams").dropIndex("byName");
        await db.collection("teams").createIndex({ organizationId: 1, nameKey: 1 }, { name: "byName" });
      });
      await expect(open(database)).rejects.toThrow(/index byName of .*teams differs/);
    });

    test("refuses data that breaks a unique index", async () => {
      const database = freshName();
      await raw(database, (db) => db.collection("users").insertMany([{ email: "a@b" }, { email: "a@b" }]));
      await expect(open(database)).rejects.toThrow(/could not build the indexes byEmail of .*users/);
    });

    test("fails soon when the database cannot be reached", async () => {
      await expect(openMongoStore({ uri: "mongodb://127.0.0.1:1/", serverSelectionMs: 200 })).rejects.toThrow();
    });
  });

  describe("blobs", () => {
    test("two puts of one name at once leave one of them whole, and nothing else", async () => {
      const database = freshName();
      const [left, right] = await Promise.all([open(database), open(database)]);
      const bodies = ["x", "y", "z"].map((letter) => Buffer.alloc(1_500_000, letter));
      await Promise.all(bodies.map((body, index) => (index % 2 ? left : right).blobs.put("model", once(body))));
      const read = Buffer.concat(await collect((await left.blobs.get("model")) ?? once(Buffer.alloc(0))));
      expect(bodies.some((body) => body.equals(read))).toBe(true);
      await expect(left.blobs.put("model", broken())).rejects.toThrow("cut");
      const counts = await raw(database, async (db) => [
        await db.collection("blobFiles.files").countDocuments(),
        await db.collection("blobFiles.chunks").countDocuments(),
      ]);
      expect(counts).toEqual([1, 2]);
      await right.blobs.remove("model");
      expect(await left.blobs.get("model")).toBeUndefined();
      expect(await raw(database, (db) => db.collection("blobFiles.chunks").countDocuments())).toBe(0);
    });
  });

  describe("when the primary is killed", () => {
    // A set of their own: a node with the files of a hundred collections takes half a minute to start again.
    let fragile: ReplicaSet;
    beforeAll(async () => {
      fragile = await startReplicaSet({ nodes: 1, folder: join(folder, "fragile") });
    }, 60_000);
    afterAll(() => fragile?.stop());

    test("transactions end in success or DB_TIMEOUT in time, nothing is half there, and all that was acknowledged is there", async () => {
      const limitMs = 10_000;
      const store = await open(freshName(), { uri: fragile.uri, transactionMs: limitMs });
      const outcomes: { id: number; state: "acknowledged" | "timeout"; tookMs: number }[] = [];
      let next = 1;
      const stop = new AbortController();
      const write = async () => {
        const id = next++;
        const startedAt = performance.now();
        const state = await store
          .transaction("every", async (tx) => {
            await tx.insert("ledger", ledgerEntry(id));
            await tx.insert("usage", usageRow(id));
          })
          .then(
            () => "acknowledged" as const,
            (error: AppError) => {
              expect(error).toMatchObject({ code: "DB_TIMEOUT" });
              return "timeout" as const;
            },
          );
        outcomes.push({ id, state, tookMs: performance.now() - startedAt });
      };
      const writers = (async () => {
        while (!stop.signal.aborted) await write();
        await write();
      })();
      while (outcomes.length < 3) await sleep(5);
      try {
        await fragile.kill(0);
        await sleep(1_000);
        await fragile.restart(0);
      } finally {
        stop.abort();
      }
      await writers;
      expect(Math.max(...outcomes.map(({ tookMs }) => tookMs))).toBeLessThan(limitMs + 500);
      const ledger = new Set((await collect(store.scan("ledger"))).map(({ reference }) => reference));
      const usage = new Set((await collect(store.scan("usage"))).map(({ id }) => id));
      expect(usage).toEqual(ledger);
      for (const { id, state } of outcomes) if (state === "acknowledged") expect(usage.has(`call_${id}`)).toBe(true);
      expect(outcomes.at(-1)?.state).toBe("acknowledged");
    }, 60_000);

    test("and stays away, reads, transactions and pings say DB_TIMEOUT in time", async () => {
      const store = await open(freshName(), { uri: fragile.uri, transactionMs: 1_500, readMs: 1_000, serverSelectionMs: 700 });
      await fragile.kill(0);
      try {
        const startedAt = performance.now();
        const timeout = { code: "DB_TIMEOUT", retryAfterSeconds: 1 };
        await Promise.all([
          expect(store.get("teams", "team_1")).rejects.toMatchObject(timeout),
          expect(collect(store.scan("teams"))).rejects.toMatchObject(timeout),
          expect(store.transaction("every", (tx) => tx.put("counters", { id: "c", value: 1 }))).rejects.toMatchObject(timeout),
          expect(store.blobs.get("model")).rejects.toMatchObject(timeout),
          expect(store.ping()).rejects.toMatchObject(timeout),
        ]);
        expect(performance.now() - startedAt).toBeLessThan(2_000);
      } finally {
        await fragile.restart(0);
      }
      await store.ping();
    }, 60_000);
  });
}

/** Asked in a process of its own, because tests must be declared before anything can be awaited. Says loudly when there is none. */
function findMongod(): string | undefined {
  const helper = resolve(import.meta.dirname, "../../../test/helpers/mongod.ts");
  const program = `const { requireMongod } = await import(${JSON.stringify(helper)}); process.stdout.write((await requireMongod()) ?? "");`;
  const path = execFileSync(process.execPath, ["--input-type=module", "--eval", program], { stdio: ["ignore", "pipe", "inherit"] });
  return path.toString() || undefined;
}

function key(id: string) {
  return { id, hash: id, name: id, maskedKey: "sk-...0000", teamId: "team_1", organizationId: "org_1", createdBy: 1, createdAt: 1 };
}

function ledgerEntry(id: number): LedgerEntry {
  const hash = String(id).padStart(64, "0");
  const accounts = { organizationId: "org_1", from: "org:org_1", to: "revenue" };
  return { id, reference: `call_${id}`, type: "usage", ...accounts, amount: 12_345n, balanceAfter: 10n ** 12n, createdAt: 1, hash };
}

function usageRow(id: number, changes: Partial<UsageRow> = {}): UsageRow {
  const usage = {
    input: 900,
    cachedInput: 0,
    cacheWrite: 0,
    output: 120,
    reasoning: 0,
    audio: 0,
    total: 1_020,
    source: "provider" as const,
  };
  const caller = {
    organizationId: "org_1",
    teamId: "team_1",
    teamName: "River",
    apiKeyId: "key_1",
    apiKeyName: "k",
    maskedKey: "sk-...0000",
  };
  const call = { endpoint: "/v1/chat/completions", model: "gpt-4o-mini", deploymentId: "dep_1", provider: "openai", type: "chat" };
  const outcome = {
    stream: true,
    status: "success" as const,
    httpStatus: 200,
    cacheHit: false,
    attempts: 1,
    latencyMs: 800,
    overheadUs: 900,
  };
  const times = { createdAt: 1_700_000_000_000 + id, completedAt: 1_700_000_000_800 + id };
  const money = { cost: 12_345n, priceVersion: 1, contentHash: String(id).padStart(64, "0") };
  return { id: `call_${id}`, ...times, ...caller, ...call, ...outcome, usage, ...money, tags: ["a", "b"], ...changes };
}

async function* once(bytes: Buffer): AsyncIterable<Uint8Array> {
  yield bytes;
}

async function* broken(): AsyncIterable<Uint8Array> {
  yield Buffer.alloc(1_500_000);
  throw new Error("cut");
}
