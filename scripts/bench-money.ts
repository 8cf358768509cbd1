/** `make bench-money`: what it costs to never lose a cent. Prints figures, asserts nothing. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { measureReplay, measureThroughput, measureWaits, openBenchJournal } from "./bench/journal-figures.ts";

const folder = mkdtempSync(join(tmpdir(), "tributary-bench-money-"));
try {
  await benchJournal("process", { calls: 50_000, waitAim: "at most 0.05 ms" });
  await benchJournal("disk", { calls: 20_000, waitAim: "at most 2 ms" });
  const { tookMs, records } = await measureReplay(join(folder, "replay"), 100_000);
  print(`replay of ${format(records)} records`, `${(tookMs / 1000).toFixed(2)} s`, "at most 1.5 s");
} finally {
  rmSync(folder, { recursive: true, force: true });
}

async function benchJournal(sync: "process" | "disk", { calls, waitAim }: { calls: number; waitAim: string }): Promise<void> {
  const journal = await openBenchJournal(join(folder, sync), sync);
  await measureThroughput(journal, { calls: 2000, atOnce: 100 });
  const recordsPerSecond = await measureThroughput(journal, { calls, atOnce: 200 });
  print(`journal, ${sync}: records of 200 calls at once`, `${format(recordsPerSecond)}/s`, "at least 20,000/s");
  for (const callsPerMs of [0.5, 5]) {
    const { p50Ms, p99Ms } = await measureWaits(journal, { calls: callsPerMs * 3000, callsPerMs });
    const what = `journal, ${sync}: wait for a final at ${format(callsPerMs * 4000)} records/s`;
    print(`${what}, p50`, `${p50Ms.toFixed(3)} ms`, waitAim);
    print(`${what}, p99`, `${p99Ms.toFixed(3)} ms`, sync === "disk" ? "at most 20 ms" : "");
  }
  await journal.close();
}

function print(what: string, figure: string, aim: string): void {
  console.log(`${what.padEnd(64)} ${figure.padStart(12)}   ${aim && `(aim: ${aim})`}`);
}

function format(value: number): string {
  return value.toLocaleString("en-US");
}
