import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { systemClock } from "../../../common/clock.ts";
import { systemDisk } from "../../../common/disk.ts";
import { silentLogger } from "../../../common/logger.ts";
import { openJournal } from "../../../gateway-edge/credit/journal/open-journal.ts";
import { startProcess } from "../../helpers/processes.ts";

const ROUNDS = 4;
const CALLS_PER_ROUND_MAX = 1_000_000;

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "tributary-journal-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test.each(["process", "disk"] as const)(
  "a process that is killed again and again while it writes loses no call it said was safe, and settles none twice (%s)",
  async (sync) => {
    const safe: string[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const env = { JOURNAL_FOLDER: folder, JOURNAL_SYNC: sync, FIRST_CALL: String(round * CALLS_PER_ROUND_MAX) };
      const worker = startProcess({ entry: "test/e2e/kills/journal-worker.ts", name: "journal worker", env });
      await worker.ready;
      await delay(50 + round * 37);
      await worker.kill9();
      // The last line may be half of one.
      safe.push(...worker.stdout.split("\n").slice(0, -1));
    }

    const options = { disk: systemDisk, folder, edgeId: "edge-1", sync, clock: systemClock, logger: silentLogger, onBroken: () => {} };
    const journal = await openJournal(options);
    const rows = [...journal.unacknowledged()].map(({ log }) => log);
    await journal.close();

    expect(safe.length).toBeGreaterThan(ROUNDS);
    const kept = new Map(rows.map((row) => [row.callId, row.status]));
    expect(kept.size).toBe(rows.length);
    expect(safe.filter((call) => kept.get(call) !== "success")).toEqual([]);
    expect(journal.start.damagedFiles).toEqual([]);
  },
  60_000,
);
