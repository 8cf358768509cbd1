import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openEmbeddedStore } from "./embedded/store.ts";
import type { Store } from "./store.ts";

/** Opens an embedded store in a new folder, for one test; `close` removes it. */
export function openTestStore({ slots = 1 } = {}): { store: Store; close(): Promise<void> } {
  const folder = mkdtempSync(join(tmpdir(), "tributary-test-"));
  const store = openEmbeddedStore(folder, { slots, keepsRecords: true });
  return {
    store,
    async close() {
      await store.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
