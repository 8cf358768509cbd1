import fc from "fast-check";
import type { Session, Team } from "../domain/records.ts";
import { collect, readPage } from "./page.ts";
import { organizationScope, type Scope } from "./scopes.ts";
import type { Store } from "./store.ts";

/** A store of an adapter, opened for one test. */
export interface StoreUnderTest {
  store: Store;
  /** Closes it and opens the same data again. */
  reopen(): Promise<Store>;
  close(): Promise<void>;
}

/** The contract of the store port, run by each adapter's own test file. */
export function storeContract(name: string, open: () => Promise<StoreUnderTest>): void {
  describe(`the ${name} store`, () => {
    let subject: StoreUnderTest;
    let store: Store;
    beforeEach(async () => {
      subject = await open();
      store = subject.store;
    });
    afterEach(() => subject.close());

    test("keeps every field as it was written: bigints of 64 bits, large whole numbers, absent fields absent", async () => {
      const account = {
        id: "org:1",
        balance: -(2n ** 63n) + 1n,
        seq: 2 ** 53 - 1,
        updatedAt: 1.5,
        purchased: 5n,
        granted: 0n,
        rewarded: 2n ** 62n,
        used: -1n,
      };
      await store.transaction("every", (tx) => tx.insert("accounts", account));
      await store.transaction("every", (tx) => tx.insert("teams", team("team_1", { nameKey: "ünï \u0000 💧", models: ["a/b", ""] })));
      store = await subject.reopen();
      expect(await store.get("accounts", "org:1")).toStrictEqual(account);
      expect(await store.get("teams", "team_1")).toStrictEqual(team("team_1", { nameKey: "ünï \u0000 💧", models: ["a/b", ""] }));
    });

    test("a transaction that throws leaves nothing behind", async () => {
      const failing = store.transaction("every", async (tx) => {
        await tx.insert("teams", team("team_1"));
        await tx.put("counters", { id: "c", value: 1 });
        throw new Error("half way");
      });
      await expect(failing).rejects.toThrow("half way");
      expect(await store.get("teams", "team_1")).toBeUndefined();
      expect(await store.count("counters")).toBe(0);
    });

    test("a transaction sees its own writes, in get, getMany, find, scan and count, and other readers do not before it commits", async () => {
      await store.transaction("every", (tx) => tx.insert("teams", team("team_a", { createdAt: 1 })));
      await store.transaction("every", async (tx) => {
        await tx.insert("teams", team("team_c", { createdAt: 3 }));
        await tx.insert("teams", team("team_b", { createdAt: 2 }));
        await tx.put("teams", team("team_a", { createdAt: 9 }));
        expect((await tx.get("teams", "team_b"))?.createdAt).toBe(2);
        expect((await tx.getMany("teams", ["team_c", "nope", "team_a"])).map((found) => found?.createdAt)).toEqual([3, undefined, 9]);
        expect((await tx.find("teams", "byName", ["org_1", "team_b"]))?.id).toBe("team_b");
        const range = { index: "byOrganization", equals: ["org_1"] } as const;
        expect((await collect(tx.scan("teams", range))).map(({ id }) => id)).toEqual(["team_b", "team_c", "team_a"]);
        expect(await tx.count("teams", range)).toBe(3);
        expect(await store.count("teams", range)).toBe(1);
      });
      expect(await store.count("teams")).toBe(3);
    });

    test("listMany answers each value of an index's first field with its records in order, inside a transaction with its own writes", async () => {
      const idsOf = (lists: { id: string }[][]) => lists.map((list) => list.map(({ id }) => id));
      await store.transaction("every", async (tx) => {
        await tx.insert("teams", team("team_b", { createdAt: 2 }));
        await tx.insert("teams", team("team_a", { createdAt: 1 }));
        await tx.insert("teams", team("team_x", { organizationId: "org_2" }));
      });
      const values = ["org_2", "nobody", "org_1", "org_2"];
      expect(idsOf(await store.listMany("teams", "byOrganization", values))).toEqual([["team_x"], [], ["team_a", "team_b"], ["team_x"]]);
      expect(await store.listMany("teams", "byOrganization", [])).toEqual([]);
      await store.transaction("every", async (tx) => {
        expect(idsOf(await tx.listMany("teams", "byOrganization", ["org_1"]))).toEqual([["team_a", "team_b"]]);
        await tx.remove("teams", "team_a");
        await tx.insert("teams", team("team_c", { createdAt: 0 }));
        expect(idsOf(await tx.listMany("teams", "byOrganization", ["org_1", "org_2"]))).toEqual([["team_c", "team_b"], ["team_x"]]);
      });
    });

    test("many reads of single records at once have each its own answer, and a value that is none fails alone", async () => {
      await store.transaction("every", async (tx) => {
        for (let number = 0; number < 300; number++) await tx.put("counters", { id: `c${number}`, value: number });
      });
      const reads = Array.from({ length: 300 }, (_, number) => store.get("counters", `c${number}`));
      const missing = store.get("counters", "none");
      const wrong = store.get("counters", { $gt: "" } as unknown as string);
      const [values] = await Promise.all([Promise.all(reads), expect(wrong).rejects.toThrow(), expect(missing).resolves.toBeUndefined()]);
      expect(values.map((counter) => counter?.value)).toEqual(Array.from({ length: 300 }, (_, number) => number));
    });

    test("an id that is longer than any that can be stored is not found, as any unknown one", async () => {
      await store.transaction("every", (tx) => tx.insert("teams", team("team_1")));
      for (const long of ["x".repeat(10_000), "ü".repeat(1_000)]) {
        expect(await store.get("teams", long)).toBeUndefined();
        expect((await store.getMany("teams", [long, "team_1"])).map((found) => found?.id)).toEqual([undefined, "team_1"]);
        expect(await store.find("teams", "byName", ["org_1", long])).toBeUndefined();
      }
    });

    test("a removed record is gone from every index, and its unique names are free again", async () => {
      await store.transaction("every", (tx) => tx.insert("teams", team("team_1")));
      await store.transaction("every", async (tx) => {
        await tx.remove("teams", "team_1");
        expect(await tx.find("teams", "byName", ["org_1", "team_1"])).toBeUndefined();
        await tx.insert("teams", team("team_2", { nameKey: "team_1" }));
      });
      expect((await store.find("teams", "byName", ["org_1", "team_1"]))?.id).toBe("team_2");
      expect((await collect(store.scan("teams", { index: "byOrganization", equals: ["org_1"] }))).map(({ id }) => id)).toEqual(["team_2"]);
    });

    test("an id or a unique index that is taken is refused with ALREADY_EXISTS, and the transaction with it", async () => {
      await store.transaction("every", (tx) => tx.insert("teams", team("team_1")));
      const sameId = store.transaction("every", (tx) => tx.insert("teams", team("team_1", { nameKey: "other" })));
      await expect(sameId).rejects.toMatchObject({ code: "ALREADY_EXISTS" });
      const sameName = store.transaction("every", async (tx) => {
        await tx.put("counters", { id: "c", value: 1 });
        await tx.insert("teams", team("team_2", { nameKey: "team_1" }));
      });
      await expect(sameName).rejects.toMatchObject({ code: "ALREADY_EXISTS" });
      expect(await store.get("counters", "c")).toBeUndefined();
    });

    test("of 40 racing inserts of one unique name exactly one wins", async () => {
      const races = Array.from({ length: 40 }, (_, index) =>
        store.transaction("every", (tx) => tx.insert("teams", team(`team_${index}`, { nameKey: "one" }))),
      );
      const outcomes = await Promise.allSettled(races);
      expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
      expect(await store.count("teams")).toBe(1);
    });

    test("a write outside the scopes of its transaction is refused, whichever way it is written, and so is a removal", async () => {
      const scope = organizationScope(store, "org_1");
      await store.transaction(scope, (tx) => tx.insert("teams", team("team_1")));
      const outside = new RegExp(`of the scope ${scope}; the transaction has identity$`);
      await expect(store.transaction("identity", (tx) => tx.insert("teams", team("team_2")))).rejects.toThrow(outside);
      await expect(store.transaction("identity", async (tx) => tx.insertNew("teams", [team("team_2")]))).rejects.toThrow(outside);
      await expect(store.transaction("identity", (tx) => tx.remove("teams", "team_1"))).rejects.toThrow(outside);
      await expect(store.transaction([], (tx) => tx.insert("teams", team("team_2")))).rejects.toThrow("the transaction has none");
      expect((await collect(store.scan("teams"))).map(({ id }) => id)).toEqual(["team_1"]);
    });

    test("a transaction writes in each of its scopes, and records without order in any", async () => {
      await store.transaction([organizationScope(store, "org_1"), "identity"], async (tx) => {
        await tx.insert("teams", team("team_1"));
        await tx.insert("sessions", session("ses_1", 1, 1));
        await tx.put("idempotency", { id: "i", requestHash: "h", expiresAt: 1 });
      });
      await store.transaction([], (tx) => tx.remove("idempotency", "i"));
      expect([await store.count("teams"), await store.count("sessions"), await store.count("idempotency")]).toEqual([1, 1, 0]);
    });

    test("transactions over the same scopes, named in any order, all come to an end and lose nothing", async () => {
      const addTo = (scopes: readonly Scope[]) =>
        store.transaction(scopes, async (tx) => {
          const value = (await tx.get("counters", "c"))?.value ?? 0;
          await tx.put("counters", { id: "c", value: value + 1 });
        });
      const runs = Array.from({ length: 20 }, () => [
        addTo(["audit", "identity"]),
        addTo(["identity", "audit"]),
        addTo(["catalog", "audit"]),
      ]);
      await Promise.all(runs.flat());
      expect((await store.get("counters", "c"))?.value).toBe(60);
    });

    test("many new records go in at once, and are found by id and by index", async () => {
      await store.transaction("every", async (tx) => tx.insertNew("teams", [team("team_1"), team("team_2", { createdAt: 0 })]));
      expect((await store.find("teams", "byName", ["org_1", "team_2"]))?.id).toBe("team_2");
      expect((await collect(store.scan("teams", { index: "byOrganization", equals: ["org_1"] }))).map(({ id }) => id)).toEqual([
        "team_2",
        "team_1",
      ]);
    });

    test("a record that was claimed to be new and is not aborts the transaction, and the old one stays", async () => {
      await store.transaction("every", (tx) => tx.insert("teams", team("team_1", { createdAt: 7 })));
      const claim = store.transaction("every", async (tx) => {
        await tx.put("counters", { id: "c", value: 1 });
        tx.insertNew("teams", [team("team_1", { createdAt: 8 })]);
      });
      await expect(claim).rejects.toMatchObject({ code: "ALREADY_EXISTS" });
      expect([(await store.get("teams", "team_1"))?.createdAt, await store.get("counters", "c")]).toEqual([7, undefined]);
    });

    test("100 racing increments lose none", async () => {
      const increment = () =>
        store.transaction("every", async (tx) => {
          const value = (await tx.get("counters", "c"))?.value ?? 0;
          await tx.put("counters", { id: "c", value: value + 1 });
        });
      await Promise.all(Array.from({ length: 100 }, increment));
      expect((await store.get("counters", "c"))?.value).toBe(100);
    });

    test("records that lack a field of a unique index do not clash in it", async () => {
      await store.transaction("every", async (tx) => {
        await tx.insert("keys", key("key_1", "h1"));
        await tx.insert("keys", key("key_2", "h2"));
        await tx.insert("keys", { ...key("key_3", "h3"), previousHash: "old" });
      });
      expect((await store.find("keys", "byPreviousHash", ["old"]))?.id).toBe("key_3");
    });

    test("scans any range of an index in both directions, by value, by position and by page, as sorting in memory would", async () => {
      const rows = fc.array(fc.record({ user: fc.constantFrom(1, 2, 10), at: fc.integer({ min: 0, max: 20 }) }), { maxLength: 30 });
      const cut = fc.option(fc.integer({ min: 0, max: 21 }), { nil: undefined });
      let run = 0;
      await fc.assert(
        fc.asyncProperty(rows, cut, cut, fc.boolean(), fc.nat(3), async (given, from, before, reverse, skip) => {
          const batch = String(run++).padStart(4, "0");
          const sessions = given.map((row, index) => session(`${batch}-${String(index).padStart(2, "0")}`, row.user * 1000 + run, row.at));
          await store.transaction("every", async (tx) => {
            for (const record of sessions) await tx.insert("sessions", record);
          });
          const userId = 1000 + run;
          const expected = sessions
            .filter((record) => record.userId === userId && record.createdAt >= (from ?? 0) && record.createdAt < (before ?? 99))
            .sort((left, right) => (left.createdAt - right.createdAt || left.id.localeCompare(right.id)) * (reverse ? -1 : 1));
          const range = {
            index: "byUser",
            equals: [userId],
            reverse,
            ...(from === undefined ? {} : { from }),
            ...(before === undefined ? {} : { before }),
          } as const;
          expect(await collect(store.scan("sessions", range))).toEqual(expected);
          expect(await store.count("sessions", range)).toBe(expected.length);
          expect(await collect(store.scan("sessions", { ...range, skip, limit: 2 }))).toEqual(expected.slice(skip, skip + 2));
          const [first] = expected;
          if (first) {
            const rest = await collect(store.scan("sessions", { ...range, after: [userId, first.createdAt, first.id] }));
            expect(rest).toEqual(expected.slice(1));
          }
        }),
        { numRuns: 25 },
      );
    });

    test("scans by id in both directions, numbers as numbers", async () => {
      await store.transaction("every", async (tx) => {
        for (const id of [2, 10, 1]) await tx.insert("feed", { id, at: 0, kind: "key", subject: "s" });
      });
      const ids = async (range: object) => (await collect(store.scan("feed", range))).map(({ id }) => id);
      expect(await ids({})).toEqual([1, 2, 10]);
      expect(await ids({ from: 2 })).toEqual([2, 10]);
      expect(await ids({ before: 10, reverse: true })).toEqual([2, 1]);
      expect(await ids({ after: [1] })).toEqual([2, 10]);
      expect(await ids({ after: [10], reverse: true, limit: 1 })).toEqual([2]);
    });

    test("a numbered page knows the total; past the end it is empty", async () => {
      await store.transaction("every", async (tx) => {
        for (let index = 0; index < 7; index++) await tx.insert("teams", team(`team_${index}`, { createdAt: index }));
      });
      const range = { index: "byOrganization", equals: ["org_1"] } as const;
      const page = await readPage(store, "teams", { range, page: 2, pageSize: 3 });
      expect([page.total, page.records.map(({ id }) => id)]).toEqual([7, ["team_3", "team_4", "team_5"]]);
      const odd = await readPage(store, "teams", { range, page: 2, pageSize: 2, where: ({ createdAt }) => createdAt % 2 === 1 });
      expect([odd.total, odd.records.map(({ id }) => id)]).toEqual([3, ["team_5"]]);
      expect(await readPage(store, "teams", { range, page: 9, pageSize: 3 })).toEqual({ records: [], total: 7 });
    });

    test("what was acknowledged is there after the store is opened again", async () => {
      await store.transaction("every", (tx) => tx.insert("teams", team("team_1")));
      store = await subject.reopen();
      expect((await store.get("teams", "team_1"))?.name).toBe("team_1");
      expect((await store.find("teams", "byName", ["org_1", "team_1"]))?.id).toBe("team_1");
    });

    test("listeners are notified of a new feed row", async () => {
      const notified = new Promise<void>((resolve) => void store.onFeed(resolve));
      await store.transaction("every", (tx) => tx.insert("feed", { id: 1, at: 0, kind: "key", subject: "key_1" }));
      await notified;
      expect((await store.get("feed", 1))?.subject).toBe("key_1");
    });

    test("blobs come back as they went in, are replaced whole, and a failed write leaves the old one", async () => {
      const bytes = Buffer.alloc(700_000, "tributary");
      const { bytes: size, sha256 } = await store.blobs.put("a/../b", chunks(bytes));
      expect([size, sha256.length]).toEqual([bytes.length, 64]);
      const failing = store.blobs.put("a/../b", broken());
      await expect(failing).rejects.toThrow("cut");
      const read = await store.blobs.get("a/../b");
      expect(read && Buffer.concat(await collect(read)).equals(bytes)).toBe(true);
      const tail = await store.blobs.get("a/../b", 600_001);
      expect(tail && Buffer.concat(await collect(tail)).equals(bytes.subarray(600_001))).toBe(true);
      const behind = await store.blobs.get("a/../b", bytes.length);
      expect(behind && (await collect(behind))).toEqual([]);
      await store.blobs.remove("a/../b");
      expect(await store.blobs.get("a/../b")).toBeUndefined();
    });
  });
}

function team(id: string, changes: Partial<Team> = {}): Team {
  return { id, name: id, nameKey: id, organizationId: "org_1", createdAt: 1, updatedAt: 1, ...changes };
}

function session(id: string, userId: number, createdAt: number): Session {
  return { id, userId, organizationId: "org_1", createdAt, expiresAt: createdAt + 1 };
}

function key(id: string, hash: string) {
  return { id, hash, name: id, maskedKey: "sk-...0000", teamId: "team_1", organizationId: "org_1", createdBy: 1, createdAt: 1 };
}

async function* chunks(bytes: Buffer): AsyncIterable<Uint8Array> {
  for (let offset = 0; offset < bytes.length; offset += 100_000) yield bytes.subarray(offset, offset + 100_000);
}

async function* broken(): AsyncIterable<Uint8Array> {
  yield Buffer.from("half");
  throw new Error("cut");
}
