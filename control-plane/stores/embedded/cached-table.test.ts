import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import fc from "fast-check";
import type { KeyUse, Team } from "../../domain/records.ts";
import type { Store } from "../store.ts";
import { openTestStore } from "../test-store.ts";
import { openEmbeddedStore } from "./store.ts";

const KEYS = ["key_1", "key_2", "key_3"];
const use = (id: string, spend: bigint): KeyUse => ({ id, organizationId: "org_1", spend });

type Stored = Map<string, KeyUse>;
type Step = (store: Store, change: { ids: readonly string[]; spend: bigint }, stored: Stored) => Promise<void>;

const STEPS: Readonly<Record<string, Step>> = {
  async write(store, { ids, spend }, stored) {
    await store.transaction("every", async (tx) => {
      for (const id of ids) await tx.put("keyUses", use(id, spend));
    });
    for (const id of ids) stored.set(id, use(id, spend));
  },
  async remove(store, { ids }, stored) {
    await store.transaction("every", async (tx) => {
      for (const id of ids) await tx.remove("keyUses", id);
    });
    for (const id of ids) stored.delete(id);
  },
  async insert(store, { ids, spend }, stored) {
    const uses = ids.map((id) => use(id, spend));
    const inserted = store.transaction("every", async (tx) => tx.insertNew("keyUses", uses));
    // A taken id rolls back the whole transaction after some of it was applied.
    if (ids.some((id) => stored.has(id))) return expect(inserted).rejects.toMatchObject({ code: "ALREADY_EXISTS" });
    await inserted;
    for (const each of uses) stored.set(each.id, each);
  },
  async fail(store, { ids, spend }) {
    const failed = store.transaction("every", async (tx) => {
      for (const id of ids) await tx.put("keyUses", use(id, spend));
      throw new Error("no");
    });
    await expect(failed).rejects.toThrow("no");
  },
  async "change what was read"(store, { ids }) {
    for (const read of await store.getMany("keyUses", ids)) if (read) read.spend = -1n;
  },
};

test("what is read is what was committed last, after any writes, removals and transactions that fail, whatever readers do with their records", async () => {
  const { store, close } = openTestStore();
  const step = fc.record({
    name: fc.constantFrom(...Object.keys(STEPS)),
    ids: fc.uniqueArray(fc.constantFrom(...KEYS), { minLength: 1 }),
    spend: fc.bigInt(0n, 9n),
  });
  const stored: Stored = new Map();
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
      for (const { name, ...change } of steps) {
        await STEPS[name]?.(store, change, stored);
        expect(await store.getMany("keyUses", KEYS)).toEqual(KEYS.map((id) => stored.get(id)));
        for (const id of KEYS) expect(await store.get("keyUses", id)).toEqual(stored.get(id));
      }
    }),
    { numRuns: 100 },
  );
  await close();
});

test("an object within a record that was read cannot be changed for other readers", async () => {
  const { store, close } = openTestStore();
  const team = { id: "team_1", organizationId: "org_1", name: "t", allowedModels: ["m"] };
  await store.transaction("every", async (tx) => tx.insertNew("teams", [team as unknown as Team]));
  const read = (await store.get("teams", "team_1")) as unknown as { allowedModels: string[] };
  expect(() => read.allowedModels.push("n")).toThrow(TypeError);
  team.allowedModels.push("o");
  expect(await store.get("teams", "team_1")).toEqual({ ...team, allowedModels: ["m"] });
  await close();
});

test("more records than are kept are read, too", async () => {
  const { store, close } = openTestStore();
  const uses = Array.from({ length: 5000 }, (_, index): KeyUse => ({ id: `key_${index}`, organizationId: "org_1", spend: BigInt(index) }));
  await store.transaction("every", async (tx) => tx.insertNew("keyUses", uses));
  for (let times = 0; times < 2; times++) for (const use of uses) expect(await store.get("keyUses", use.id)).toEqual(use);
  await close();
});

test("what another process writes is read after its commit: at once if this one commits, too, and otherwise soon", async () => {
  const folder = mkdtempSync(join(tmpdir(), "tributary-store-"));
  const [store, other] = [openEmbeddedStore(folder, { keepsRecords: true }), openEmbeddedStore(folder)];
  const put = (to: Store, id: string, spend: bigint) => to.transaction("every", (tx) => tx.put("keyUses", use(id, spend)));
  const spendOf = async (id: string) => (await store.get("keyUses", id))?.spend;
  await put(store, "key_1", 1n);
  expect([await spendOf("key_1"), await spendOf("key_2")]).toEqual([1n, undefined]);
  await put(other, "key_1", 2n);
  await put(other, "key_2", 2n);
  await put(store, "key_3", 3n);
  expect([await spendOf("key_1"), await spendOf("key_2"), await spendOf("key_3")]).toEqual([2n, 2n, 3n]);
  await put(other, "key_1", 4n);
  while ((await spendOf("key_1")) !== 4n) await sleep(20);
  await put(other, "key_1", 5n);
  expect(await other.get("keyUses", "key_1")).toMatchObject({ spend: 5n });
  for (const each of [store, other]) await each.close();
  rmSync(folder, { recursive: true, force: true });
});

test("many records at once are read whether they are kept or not", async () => {
  const { store, close } = openTestStore();
  const uses = Array.from({ length: 200 }, (_, index) => use(`key_${index}`, BigInt(index)));
  await store.transaction("every", async (tx) => tx.insertNew("keyUses", uses));
  const ids = uses.map(({ id }) => id);
  expect(await store.getMany("keyUses", [...ids, "none"])).toEqual([...uses, undefined]);
  await close();
});
