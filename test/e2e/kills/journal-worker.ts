/** Writes calls into a journal until it is killed, and reports on standard output which of them the journal confirmed as safe. */
import { writeSync } from "node:fs";
import { systemClock } from "../../../common/clock.ts";
import { systemDisk } from "../../../common/disk.ts";
import { silentLogger } from "../../../common/logger.ts";
import { report } from "../../../common/process.ts";
import { callId, runCall } from "../../../gateway-edge/credit/journal/journal-fixture.ts";
import { openJournal } from "../../../gateway-edge/credit/journal/open-journal.ts";
import type { JournalSync } from "../../../gateway-edge/credit/journal/writer.ts";

const AT_ONCE = 20;
const folder = process.env["JOURNAL_FOLDER"] ?? "";
const sync = process.env["JOURNAL_SYNC"] as JournalSync;
let next = Number(process.env["FIRST_CALL"]);

const onBroken = (error: unknown) => {
  throw error;
};
const limits = { fileBytesMax: 100_000 };
const journal = await openJournal({
  disk: systemDisk,
  folder,
  edgeId: "edge-1",
  sync,
  clock: systemClock,
  logger: silentLogger,
  onBroken,
  limits,
});
report({ type: "ready", port: 0 });

async function client(): Promise<never> {
  for (;;) {
    const index = next++;
    await runCall(journal, index);
    writeSync(1, `${callId(index)}\n`);
  }
}

await Promise.all(Array.from({ length: AT_ONCE }, client));
