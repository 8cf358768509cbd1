import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { MongoClient } from "mongodb";
import { AppError } from "../../../common/errors.ts";
import { type ReplicaSet, startReplicaSet } from "../../../test/helpers/mongod.ts";
import type { LedgerEntry, Team, UsageRow } from "../../domain/records.ts";
import { feedContract } from "../../feed/feed-contract.ts";
import { collect } from "../page.ts";
import { organizationScope, type Scope } from "../scopes.ts";
import type { Store } from "../store.ts";
import { storeContract } from "../store-contract.ts";
import { type MongoStoreOptions, openMongoStore } from "./store.ts";

const mongod = findMongod();
if (mongod) {
  process.env["MONGOD"] = mongod;
  withMongod();
} else {
  test("the MongoDB store is not tested here: this machine has no mongod", () => undefined);
}

/** A team of an organization whose slot has the scope. */
function teamOf(store: Store, scope: Scope): Team {
  for (let number = 0; ; number++) {
    const organizationId = `org_${number}`;
    if (organizationScope(store, organizationId) === scope) return team(`team_of_${scope}`, { organizationId });
  }
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

  describe("two control planes over one database", () => {
    let left: Store;
    let right: Store;
    beforeEach(async () => {
      const database = freshName();
      [left, right] = await Promise.all([open(database), open(database)]);
    });

    test("of 40 racing inserts of one unique name exactly one wins, and the others are refused", async () => {
      const races = Array.from({ length: 40 }, (_, index) =>
        (index % 2 ? left : right).transaction("every", (tx) => tx.insert("teams", team(`team_${index}`, { nameKey: "one" }))),
      );
      const outcomes = await Promise.allSettled(races);
      expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
      const refused = outcomes.flatMap((outcome) => (outcome.status === "rejected" ? [(outcome.reason as AppError).code] : []));
      expect(new Set(refused)).toEqual(new Set(["ALREADY_EXISTS"]));
      expect(await left.count("teams")).toBe(1);
    });

    test("of 20 racing inserts of one id exactly one wins", async () => {
      const races = Array.from({ length: 20 }, (_, index) =>
        (index % 2 ? left : right).transaction("every", (tx) => tx.insert("counters", { id: "same", value: index })),
      );
      const outcomes = await Promise.allSettled(races);
      expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    });

    test("200 racing increments lose none, although the record is not there at first", async () => {
      const increment = (store: Store) =>
        store.transaction("every", async (tx) => {
          const value = (await tx.get("counters", "c"))?.value ?? 0;
          await tx.put("counters", { id: "c", value: value + 1 });
        });
      await Promise.all(Array.from({ length: 200 }, (_, index) => increment(index % 2 ? left : right)));
      expect((await left.get("counters", "c"))?.value).toBe(200);
    });

    test("two that each read what the other changes do not both go through on what they read", async () => {
      await left.transaction("every", async (tx) => {
        await tx.put("counters", { id: "a", value: 1 });
        await tx.put("counters", { id: "b", value: 1 });
      });
      // Each may take its own one away only while the other one is there: at most one of them may.
      const takeAway = (store: Store, { own, other }: { own: string; other: string }) =>
        store.transaction("every", async (tx) => {
          const there = await tx.get("counters", other);
          await sleep(50);
          if (there) await tx.remove("counters", own);
        });
      await Promise.all([takeAway(left, { own: "a", other: "b" }), takeAway(right, { own: "b", other: "a" })]);
      expect(await left.count("counters")).toBe(1);
    });

    test("transactions of different scopes run at the same time, at one control plane and at two, each of them once", async () => {
      const [first, second] = [teamOf(left, "slot:1"), teamOf(left, "slot:2")];
      let runs = 0;
      const insert = (store: Store, scope: Scope, record: Team) =>
        store.transaction(scope, (tx) => {
          runs++;
          return tx.insert("teams", record);
        });
      const held = Promise.withResolvers<void>();
      const long = left.transaction("slot:1", async (tx) => {
        runs++;
        await tx.insert("teams", first);
        await held.promise;
      });
      await insert(left, "slot:2", second);
      await insert(right, "slot:2", { ...second, id: "team_3", nameKey: "three" });
      held.resolve();
      await long;
      expect([runs, await left.count("teams")]).toEqual([3, 3]);
    });

    test("two that share a slot and a shared scope, named in another order, all go through", async () => {
      const increment = (store: Store, scopes: readonly Scope[]) =>
        store.transaction(scopes, async (tx) => {
          const value = (await tx.get("counters", "audit"))?.value ?? 0;
          await tx.put("counters", { id: "audit", value: value + 1 });
        });
      const runs = Array.from({ length: 20 }, () => [
        increment(left, ["slot:1", "audit"]),
        increment(right, ["audit", "slot:2", "slot:1"]),
        increment(right, ["slot:3", "audit"]),
      ]);
      await Promise.all(runs.flat());
      expect((await left.get("counters", "audit"))?.value).toBe(60);
    });

    test("a feed row that one writes wakes the other within 1.5 s", async () => {
      let calls = 0;
      left.onFeed(() => calls++);
      // Until the first row has arrived, the other store may not listen yet.
      await right.transaction("every", (tx) => tx.insert("feed", feedRow(1)));
      while (calls === 0) await sleep(5);
      const before = calls;
      const startedAt = performance.now();
      await right.transaction("every", (tx) => tx.insert("feed", feedRow(2)));
      while (calls === before && performance.now() - startedAt < 5_000) await sleep(5);
      expect(performance.now() - startedAt).toBeLessThan(1_500);
      expect(await left.get("feed", 2)).toEqual(feedRow(2));
    });
  });

  describe("a fence", () => {
    /** Two control planes that own slots as their fences say; `raise` is a take-over. */
    async function openFenced() {
      const database = freshName();
      const epochs = { old: 1 as number | undefined, new: 2 };
      const [old, next] = await Promise.all([
        open(database, { fence: { epochOf: (slot) => (slot === 7 ? epochs.old : undefined) } }),
        open(database, { fence: { epochOf: (slot) => (slot === 7 ? epochs.new : undefined) } }),
      ]);
      const setEpoch = (epoch: number) =>
        raw(database, (db) =>
          db.collection<{ _id: string }>("transactionOrder").updateOne({ _id: "slot:7" }, { $set: { epoch } }, { upsert: true }),
        );
      await setEpoch(1);
      return { old, next, setEpoch, epochs };
    }

    test("lets its owner write, and refuses a transaction over another slot before it runs", async () => {
      const { old, next } = await openFenced();
      const record = teamOf(old, "slot:7");
      await old.transaction(["slot:7", "identity"], (tx) => tx.insert("teams", record));
      let ran = false;
      const elsewhere = old.transaction(["identity", "slot:8"], async () => {
        ran = true;
      });
      await expect(elsewhere).rejects.toMatchObject({ name: "NotOwner", slot: 8, code: "UNAVAILABLE" });
      await expect(next.transaction("slot:7", (tx) => tx.remove("teams", record.id))).rejects.toMatchObject({ name: "NotOwner", slot: 7 });
      expect([ran, await old.count("teams"), old.owns(7), old.owns(8)]).toEqual([false, 1, true, false]);
    });

    test("commits nothing of a transaction that was open when another control plane took the slot", async () => {
      const { old, next, setEpoch } = await openFenced();
      const record = teamOf(old, "slot:7");
      const late = old.transaction(["slot:7", "identity"], async (tx) => {
        await tx.insert("teams", record);
        await tx.insert("sessions", { id: "ses_1", userId: 1, organizationId: "o", createdAt: 1, expiresAt: 2 });
        await setEpoch(2);
        await next.transaction("slot:7", (other) => other.put("teams", { ...record, id: "team_next", nameKey: "next" }));
      });
      await expect(late).rejects.toMatchObject({ name: "NotOwner", slot: 7 });
      expect([(await collect(old.scan("teams"))).map(({ id }) => id), await old.count("sessions")]).toEqual([["team_next"], 0]);
    });

    test("refuses an owner that was away, although it believes in its slot, and reads of it change nothing", async () => {
      const { old, setEpoch } = await openFenced();
      const record = teamOf(old, "slot:7");
      await setEpoch(2);
      await expect(old.transaction("slot:7", (tx) => tx.insert("teams", record))).rejects.toMatchObject({ name: "NotOwner" });
      expect(await old.transaction([], (tx) => tx.count("teams"))).toBe(0);
    });
  });

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
      const store = await open(freshName(), { transactionMs: 400 });
      const slow = store.transaction("every", async (tx) => {
        await sleep(700);
        await tx.put("counters", { id: "slow", value: 1 });
      });
      const queued = store.transaction("every", (tx) => tx.put("counters", { id: "queued", value: 1 }));
      const startedAt = performance.now();
      await expect(slow).rejects.toMatchObject({ code: "DB_TIMEOUT", retryAfterSeconds: 1 });
      await expect(queued).rejects.toMatchObject({ code: "DB_TIMEOUT" });
      expect(performance.now() - startedAt).toBeLessThan(650);
      await sleep(600);
      expect(await store.count("counters")).toBe(0);
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
      await sleep(300);
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

function team(id: string, changes: Partial<Team> = {}): Team {
  return { id, name: id, nameKey: id, organizationId: "org_1", createdAt: 1, updatedAt: 1, ...changes };
}

function key(id: string) {
  return { id, hash: id, name: id, maskedKey: "sk-...0000", teamId: "team_1", organizationId: "org_1", createdBy: 1, createdAt: 1 };
}

function feedRow(id: number) {
  return { id, at: 0, kind: "key" as const, subject: "key_1" };
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
