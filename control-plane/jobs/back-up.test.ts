import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { silentLogger } from "../../common/logger.ts";
import { Backups } from "../backup/backups.ts";
import { restore } from "../backup/restore.ts";
import { readControlConfig } from "../config.ts";
import { fillLedger } from "../proof/ledger-fixture.ts";
import { openEmbeddedStore } from "../stores/embedded/store.ts";
import { backUpWhenDue } from "./back-up.ts";

const HOUR = 3_600_000;
const START = Date.UTC(2026, 10, 16, 10);

test("a backup is written every BACKUP_HOURS, the newest BACKUPS_KEPT stay, and other files too", async () => {
  const root = mkdtempSync(join(tmpdir(), "tributary-job-"));
  const folder = join(root, "backups");
  const store = openEmbeddedStore(join(root, "data", "control-plane"));
  try {
    await fillLedger(store);
    const config = readControlConfig({
      DATA_DIR: join(root, "data"),
      SECRET_KEY: "x".repeat(32),
      BACKUP_DIR: folder,
      BACKUP_HOURS: "6",
      BACKUPS_KEPT: "2",
    });
    let now = START;
    const clock = { now: () => now, monotonicMs: () => now, sleep: async () => {}, after: () => () => {} };
    const backups = new Backups({ store, clock, config, secrets: { fingerprint: "f" } });
    for (const [hours, madeAt] of [
      ...([
        [0, 0],
        [1, 0],
        [5.9, 0],
        [6, 6],
      ] as const),
      ...([
        [7, 6],
        [12, 12],
        [20, 20],
      ] as const),
    ]) {
      now = START + hours * HOUR;
      await backUpWhenDue(now, { config, backups, logger: silentLogger });
      expect(backups.newestAt).toBe(START + madeAt * HOUR);
      if (hours === 0) writeFileSync(join(folder, "mine.tar.gz"), "mine");
    }
    const names = readdirSync(folder);
    expect(names.sort()).toEqual(["mine.tar.gz", "tributary-2026-11-16T22-00-00Z.tar.gz", "tributary-2026-11-17T06-00-00Z.tar.gz"]);
    const newest = join(folder, "tributary-2026-11-17T06-00-00Z.tar.gz");
    expect(statSync(newest).mode & 0o777).toBe(0o600);
    const restored = await restore({
      from: newest,
      folder: join(root, "restored"),
      openStore: openEmbeddedStore,
      signal: AbortSignal.timeout(60_000),
    });
    expect([restored.ledger.ok, restored.hasSecretFile]).toEqual([true, false]);
  } finally {
    await store.close();
    rmSync(root, { recursive: true, force: true });
  }
});

test("BACKUP_DIR with MongoDB is refused at the start, with the tool to use", () => {
  expect(() => readControlConfig({ BACKUP_DIR: "backups", MONGODB_URI: "mongodb://localhost" })).toThrow("mongodump");
});
