import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { requireMongod, startReplicaSet } from "../helpers/mongod.ts";
import { startSystem } from "../helpers/system.ts";
import { lifeOfACustomer } from "./life.ts";

const folder = mkdtempSync(join(tmpdir(), "tributary-life-mongo-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("MongoDB store: a customer's whole life, and every nano-USD of it accounted for", async () => {
  // Without a mongod this says so loudly, and fails where CI is set.
  if ((await requireMongod()) === undefined) return;
  const set = await startReplicaSet({ folder: join(folder, "mongo") });
  try {
    await lifeOfACustomer((env) => startSystem({ mongoUri: set.uri, env: { DATA_DIR: join(folder, "data"), ...env } }));
  } finally {
    await set.stop();
  }
});
