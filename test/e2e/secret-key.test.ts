import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "../../common/clock.ts";
import { openEmbeddedStore } from "../../control-plane/stores/embedded/store.ts";
import { type ReplicaSet, startReplicaSet } from "../helpers/mongod.ts";
import { freePort, type ServiceProcess, startProcess } from "../helpers/processes.ts";
import { ADMIN_PASSWORD, MASTER_KEY } from "../helpers/system.ts";

const [FIRST, OTHER] = ["first-secret-key-of-this-platform-0001", "other-secret-key-of-this-platform-0002"];
const FINGERPRINT = "secret-key-fingerprint";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "tributary-secret-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

async function start(secretKey: string, more: Record<string, string> = {}): Promise<ServiceProcess> {
  const env = { DATA_DIR: folder, CONTROL_PORT: String(await freePort()), SECRET_KEY: secretKey, ADMIN_PASSWORD, MASTER_KEY, ...more };
  return startProcess({ entry: "control-plane/main.ts", name: "control plane", env });
}

async function startAndStop(secretKey: string, more?: Record<string, string>): Promise<void> {
  const child = await start(secretKey, more);
  await child.ready;
  await child.stop();
}

async function expectRefused(secretKey: string, more?: Record<string, string>): Promise<void> {
  const child = await start(secretKey, more);
  const outcome = await Promise.race([child.exited, child.ready.catch(() => child.exited)]);
  if (!("code" in outcome)) await child.stop();
  expect(outcome).toMatchObject({ code: 78 });
  expect(child.stderr).toMatch(/SECRET_KEY is not the one/);
  expect(child.stderr).not.toContain(secretKey);
}

test("a control plane with another SECRET_KEY than its store's does not start, and says why", async () => {
  await startAndStop(FIRST);
  await expectRefused(OTHER);
  await startAndStop(FIRST);
});

test("SECRET_KEY is rotated with SECRET_KEY_PREVIOUS, which is not needed afterwards", async () => {
  await startAndStop(FIRST);
  const rotating = await start(OTHER, { SECRET_KEY_PREVIOUS: FIRST, LOG_LEVEL: "info" });
  await rotating.ready;
  const isDone = () => rotating.stderr.includes("SECRET_KEY_PREVIOUS can be removed");
  for (let turn = 0; turn < 1000 && !isDone(); turn++) await systemClock.sleep(20);
  await rotating.stop();
  expect(isDone()).toBe(true);
  await startAndStop(OTHER);
  await expectRefused(FIRST);
});

test("a store from before the check is bound to the SECRET_KEY that it was made with", async () => {
  await startAndStop(FIRST);
  const store = openEmbeddedStore(join(folder, "control-plane"));
  await store.transaction("every", (tx) => tx.remove("settings", FINGERPRINT));
  await store.close();
  await expectRefused(OTHER);
  await startAndStop(FIRST);
  await expectRefused(OTHER);
});

// `make test` says "none" when this machine has no MongoDB; the test is then listed as skipped.
const onMongo = process.env["MONGOD"] === "none" ? test.skip : test;

onMongo(
  "on MongoDB a second control plane with another SECRET_KEY does not start beside the first",
  async () => {
    const set: ReplicaSet = await startReplicaSet({ nodes: 1, folder: join(folder, "mongo") });
    try {
      const mongo = { MONGODB_URI: set.uri };
      const first = await start(FIRST, mongo);
      await first.ready;
      await expectRefused(OTHER, mongo);
      await startAndStop(FIRST, mongo);
      await first.stop();
    } finally {
      await set.stop();
    }
  },
  120_000,
);
