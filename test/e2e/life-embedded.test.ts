import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startSystem } from "../helpers/system.ts";
import { lifeOfACustomer } from "./life.ts";

const folder = mkdtempSync(join(tmpdir(), "tributary-life-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("embedded store: a customer's whole life, and every nano-USD of it accounted for", async () => {
  await lifeOfACustomer((env) => startSystem({ env: { DATA_DIR: folder, ...env } }));
});
