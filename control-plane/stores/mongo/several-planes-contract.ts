import { setTimeout as sleep } from "node:timers/promises";
import type { MongoClient } from "mongodb";
import type { AppError } from "../../../common/errors.ts";
import type { Team } from "../../domain/records.ts";
import { collect } from "../page.ts";
import { organizationScope, type Scope } from "../scopes.ts";
import type { Store } from "../store.ts";
import type { MongoStoreOptions } from "./store.ts";

/** How a test of several control planes reaches the database. */
export interface PlanesTools {
  freshName(): string;
  open(database: string, options?: Partial<MongoStoreOptions>): Promise<Store>;
  raw<T>(database: string, use: (database: ReturnType<MongoClient["db"]>) => Promise<T>): Promise<T>;
}

/** What holds between control planes over one database: order within scopes, and fencing. */
export function severalPlanes({ freshName, open, raw }: PlanesTools): void {
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
}

/** A team of an organization whose slot has the scope. */
function teamOf(store: Store, scope: Scope): Team {
  for (let number = 0; ; number++) {
    const organizationId = `org_${number}`;
    if (organizationScope(store, organizationId) === scope) return team(`team_of_${scope}`, { organizationId });
  }
}

export function team(id: string, changes: Partial<Team> = {}): Team {
  return { id, name: id, nameKey: id, organizationId: "org_1", createdAt: 1, updatedAt: 1, ...changes };
}

function feedRow(id: number) {
  return { id, at: 0, kind: "key" as const, subject: "key_1" };
}
