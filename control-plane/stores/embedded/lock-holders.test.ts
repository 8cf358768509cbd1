import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { lockHolders } from "./lock-holders.ts";
import { openEmbeddedStore } from "./store.ts";

test("a process is a holder of the lock from when it opens a store until it closes it, also between two reads", async () => {
  const folder = mkdtempSync(join(tmpdir(), "tributary-locks-"));
  const file = join(folder, "store.lmdb-lock");
  const store = openEmbeddedStore(folder);
  const expected = existsSync("/proc/locks") ? [process.pid] : [];
  for await (const _ of store.scan("settings")) throw new Error("the store is empty");
  expect(lockHolders(file)).toEqual(expected);
  expect(store.otherProcesses()).toEqual([]);
  await store.close();
  expect(lockHolders(file)).toEqual([]);
  rmSync(folder, { recursive: true, force: true });
});
