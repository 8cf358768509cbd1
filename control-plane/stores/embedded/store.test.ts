import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { storeContract } from "../store-contract.ts";
import { openEmbeddedStore } from "./store.ts";

storeContract("embedded", async () => {
  const folder = mkdtempSync(join(tmpdir(), "tributary-store-"));
  let store = openEmbeddedStore(folder);
  return {
    store,
    async reopen() {
      await store.close();
      store = openEmbeddedStore(folder);
      return store;
    },
    async close() {
      await store.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
});

test("nobody but the owner can read the embedded store's files", async () => {
  const folder = mkdtempSync(join(tmpdir(), "tributary-store-"));
  const store = openEmbeddedStore(join(folder, "inner"));
  for (const name of readdirSync(join(folder, "inner"))) {
    expect(statSync(join(folder, "inner", name)).mode & 0o077).toBe(0);
  }
  await store.close();
  rmSync(folder, { recursive: true, force: true });
});
