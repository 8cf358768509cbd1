import { setImmediate as nextTurn } from "node:timers/promises";
import { systemClock } from "../../common/clock.ts";
import { systemDisk } from "../../common/disk.ts";
import { silentLogger } from "../../common/logger.ts";
import type { Journal } from "../../gateway-edge/credit/journal/journal.ts";
import { finalOf, intentOf, progressOf, servedOf } from "../../gateway-edge/credit/journal/journal-fixture.ts";
import { openJournal } from "../../gateway-edge/credit/journal/open-journal.ts";
import type { JournalSync } from "../../gateway-edge/credit/journal/writer.ts";

const RECORDS_PER_CALL = 4;

export interface Waits {
  readonly p50Ms: number;
  readonly p99Ms: number;
}

export async function openBenchJournal(folder: string, sync: JournalSync): Promise<Journal> {
  const onBroken = (error: unknown) => {
    throw error;
  };
  return openJournal({ disk: systemDisk, folder, edgeId: "bench", sync, clock: systemClock, logger: silentLogger, onBroken });
}

/** Records per second with a fixed number of parallel calls. */
export async function measureThroughput(journal: Journal, { calls, atOnce }: { calls: number; atOnce: number }): Promise<number> {
  let next = 0;
  const client = async () => {
    for (let index = next++; index < calls; index = next++) await runCall(journal, index);
  };
  const startedMs = performance.now();
  await Promise.all(Array.from({ length: atOnce }, client));
  return Math.round((calls * RECORDS_PER_CALL * 1000) / (performance.now() - startedMs));
}

/** Calls at a steady rate, independent of the journal: how long each waits until its final is durable. */
export async function measureWaits(journal: Journal, { calls, callsPerMs }: { calls: number; callsPerMs: number }): Promise<Waits> {
  const waits: Promise<number>[] = [];
  const startedMs = performance.now();
  while (waits.length < calls) {
    const due = Math.min(calls, Math.ceil((performance.now() - startedMs) * callsPerMs));
    while (waits.length < due) waits.push(runCall(journal, waits.length));
    // Not a timer, because its millisecond resolution would make calls arrive in bursts.
    await nextTurn();
  }
  const sorted = (await Promise.all(waits)).sort((left, right) => left - right);
  const at = (share: number) => sorted[Math.floor(sorted.length * share)] ?? Number.NaN;
  return { p50Ms: at(0.5), p99Ms: at(0.99) };
}

/** Writes intent, deployment, progress and final, and returns the duration of the final. Acknowledged at intervals, as by a ledger. */
async function runCall(journal: Journal, index: number): Promise<number> {
  journal.intent(intentOf(index));
  journal.served(servedOf(index));
  journal.progress(progressOf(index, 32));
  const row = finalOf(index);
  const sinceMs = performance.now();
  await journal.final(row);
  const tookMs = performance.now() - sinceMs;
  if (index % 1000 === 999) acknowledgeAll(journal);
  return tookMs;
}

/** Writes unacknowledged records and reopens the journal. */
export async function measureReplay(folder: string, records: number): Promise<{ tookMs: number; records: number }> {
  const journal = await openBenchJournal(folder, "process");
  const calls = records / RECORDS_PER_CALL;
  for (let index = 0; index < calls; index++) {
    journal.intent(intentOf(index));
    journal.served(servedOf(index));
    journal.progress(progressOf(index, 32));
    // One call in fifty has no final.
    if (index % 50 === 0) journal.progress(progressOf(index, 64));
    else await journal.final(finalOf(index));
  }
  await journal.close();
  const startedMs = performance.now();
  const again = await openBenchJournal(folder, "process");
  const tookMs = performance.now() - startedMs;
  await again.close();
  return { tookMs, records: again.start.records };
}

function acknowledgeAll(journal: Journal): void {
  let last = 0;
  for (const { sequence } of journal.unacknowledged()) last = sequence;
  journal.acknowledge(last);
}
