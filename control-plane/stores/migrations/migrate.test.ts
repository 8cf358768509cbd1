import { ConfigError } from "../../../common/config.ts";
import { openTestStore } from "../test-store.ts";
import { migrate } from "./migrate.ts";
import type { Migration } from "./migration.ts";

const step = (version: number, readableBy = version): Migration => ({
  version,
  readableBy,
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
  const broken: Migration = { version: 2, readableBy: 2, name: "broken", up: async () => Promise.reject(new Error("no")) };
  await expect(migrate(store, [broken])).rejects.toThrow("no");
  expect((await store.get("settings", "schema"))?.value).toBe("1");
  await close();
});

test("a store of a newer release is refused as a wrong configuration, which no restart mends", async () => {
  const { store, close } = openTestStore();
  await migrate(store, [step(5)]);
  await expect(migrate(store, [step(2)])).rejects.toThrow(ConfigError);
  await expect(migrate(store, [step(2)])).rejects.toThrow("the store has schema version 5; this release knows 2");
  await close();
});

test("a newer release's store whose steps only add is opened by the release before, not by the one before that, and no step runs", async () => {
  const { store, close } = openTestStore();
  await migrate(store, [step(2)]);
  await migrate(store, [step(2), step(3, 2)]);
  expect(await migrate(store, [step(2)])).toEqual({ from: 3, to: 3 });
  await expect(migrate(store, [])).rejects.toThrow("this release knows 1");
  expect((await store.get("counters", "steps"))?.value).toBe(3);
  // A later step that removes closes the way back.
  await migrate(store, [step(2), step(3, 2), step(4)]);
  await expect(migrate(store, [step(2), step(3, 2)])).rejects.toThrow("schema version 4");
  await close();
});

test("a new store says who can open it, as an old one that was migrated does", async () => {
  const { store, close } = openTestStore();
  await migrate(store, [step(2), step(3, 2)]);
  expect(await migrate(store, [step(2)])).toEqual({ from: 3, to: 3 });
  await close();
});

test("a step that is of a store of one process alone closes the way back to that store and to no other", async () => {
  const { store, close } = openTestStore();
  const steps = [step(2), { ...step(3), readableByShared: 2 }];
  await migrate(store, steps);
  await expect(migrate(store, [step(2)])).rejects.toThrow("schema version 3");
  await close();
  const shared = openTestStore();
  Object.defineProperty(shared.store, "ownership", { value: {} });
  await migrate(shared.store, steps);
  expect(await migrate(shared.store, [step(2)])).toEqual({ from: 3, to: 3 });
  await shared.close();
});
