import { openTestStore } from "../test-store.ts";
import { migrate } from "./migrate.ts";
import type { Migration } from "./migration.ts";

const step = (version: number): Migration => ({
  version,
  name: `step ${version}`,
  up: async (tx) => {
    const value = (await tx.get("counters", "steps"))?.value ?? 0;
    await tx.put("counters", { id: "steps", value: value * 10 + version });
  },
});

test("a new store is stamped with the newest version and runs no step; an old one runs each missing step once, in order", async () => {
  const { store, close } = openTestStore();
  expect(await migrate(store, [step(2)])).toEqual({ from: 2, to: 2 });
  expect(await store.get("counters", "steps")).toBeUndefined();
  expect(await migrate(store, [step(2), step(3), step(4)])).toEqual({ from: 2, to: 4 });
  expect(await migrate(store, [step(2), step(3), step(4)])).toEqual({ from: 4, to: 4 });
  expect((await store.get("counters", "steps"))?.value).toBe(34);
  await close();
});

test("a step that fails leaves the store at the version before it", async () => {
  const { store, close } = openTestStore();
  await migrate(store, []);
  const broken: Migration = { version: 2, name: "broken", up: async () => Promise.reject(new Error("no")) };
  await expect(migrate(store, [broken])).rejects.toThrow("no");
  expect((await store.get("settings", "schema"))?.value).toBe("1");
  await close();
});

test("a store of a newer release is refused", async () => {
  const { store, close } = openTestStore();
  await migrate(store, [step(5)]);
  await expect(migrate(store, [step(2)])).rejects.toThrow("schema version 5");
  await close();
});
