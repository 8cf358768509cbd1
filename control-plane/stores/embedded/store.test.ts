import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DAY, reportedCall } from "../../proof/ledger-fixture.ts";
import { collect } from "../page.ts";
import { storeContract } from "../store-contract.ts";
import { openTestStore } from "../test-store.ts";
import { openEmbeddedStore } from "./store.ts";

storeContract("embedded", async () => {
  const folder = mkdtempSync(join(tmpdir(), "tributary-store-"));
  let store = openEmbeddedStore(folder, { keepsRecords: true });
  return {
    store,
    async reopen() {
      await store.close();
      store = openEmbeddedStore(folder, { keepsRecords: true });
      return store;
    },
    async close() {
      await store.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
});

test("only the owner can read the embedded store's files", async () => {
  const folder = mkdtempSync(join(tmpdir(), "tributary-store-"));
  const store = openEmbeddedStore(join(folder, "inner"));
  for (const name of readdirSync(join(folder, "inner"))) {
    expect(statSync(join(folder, "inner", name)).mode & 0o077).toBe(0);
  }
  await store.close();
  rmSync(folder, { recursive: true, force: true });
});

test("a long reading of the embedded store gives others their turn", async () => {
  const { store, close } = openTestStore();
  // A second apart, so that each is a key of its own: rows of one second are counted at once.
  const rows = Array.from({ length: 12_000 }, (_, index) => reportedCall(`call_${index}`, 0n, { createdAt: DAY + index * 1000 }));
  await store.transaction("every", async (tx) => tx.insertNew("usage", rows));
  const range = { index: "byOrganization", equals: ["org_1"] } as const;
  const readings: Record<string, () => Promise<number>> = {
    "by index": async () => (await collect(store.scan("usage", range))).length,
    "by id": async () => (await collect(store.scan("usage"))).length,
    "a page far behind": async () => (await collect(store.scan("usage", { ...range, skip: 11_990, limit: 100 }))).length + 11_990,
    counted: () => store.count("usage", range),
  };
  for (const [name, read] of Object.entries(readings)) {
    let [turns, isOver] = [0, false];
    const turn = () => {
      turns++;
      if (!isOver) setImmediate(turn);
    };
    setImmediate(turn);
    const records = await read();
    isOver = true;
    expect({ name, records, isShared: turns >= 2 }).toEqual({ name, records: 12_000, isShared: true });
  }
  await close();
});
