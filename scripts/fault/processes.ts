import { canMount, fullDisk } from "../../test/faults/storm/full-disk.ts";
import { lastCent } from "../../test/faults/storm/last-cent.ts";
import { losePrimary } from "../../test/faults/storm/mongo-primary.ts";
import { storm } from "../../test/faults/storm/storm.ts";
import { requireMongod } from "../../test/helpers/mongod.ts";
import { counted, printLine, printProblems, seconds } from "./print-line.ts";

const STREAMS = 50;
const EDGES = 4;

export async function faultStorm({ seed, strikes, budgetMs }: { seed: number; strikes: number; budgetMs: number }): Promise<void> {
  const report = await storm({ seed, edges: EDGES, streams: STREAMS, strikes, everyMs: 350, budgetMs });
  const { figures, problems } = report;
  const done = Object.values(report.strikes).reduce((sum, count) => sum + count, 0);
  const blows = Object.entries(report.strikes).map(([what, count]) => `${count} ${what}`);
  printLine("kill storm", {
    ok: problems.length === 0 && done === strikes,
    figures: `${done} of ${strikes} strikes on ${EDGES} edges with ${STREAMS} streams in ${seconds(report.tookMs)} (${blows.join(", ")})`,
  });
  const ended = `${counted(figures.calls)} calls, ${counted(figures.ended)} ended, ${counted(figures.cut)} cut, ${counted(figures.refused)} refused`;
  printLine("  I3 settled once", {
    ok: figures.lost === 0 && figures.doubleBilled === 0,
    figures: `${figures.lost} lost, ${figures.doubleBilled} double-billed of ${ended}`,
  });
  printLine("  I16 billed for what was delivered", {
    ok: problems.length === 0,
    figures: `at the most ${figures.mostUnderbilled} tokens of a call not billed, ${figures.mostOverbilled} on their way to a client that left`,
  });
  printProblems(problems);
}

export async function faultLastCent(): Promise<void> {
  const [edges, calls] = [4, 400];
  const report = await lastCent({ edges, calls });
  printLine("I6 the last cent", {
    ok: report.problems.length === 0,
    figures: `${calls} calls at once on ${edges} edges, ${report.admitted} admitted, final balance ${counted(report.balanceNano)} nano-USD, bound ${counted(report.boundNano)}`,
  });
  printProblems(report.problems);
}

export async function faultFullDisk(): Promise<void> {
  if (!canMount()) {
    console.log("skip I18 a full disk: this machine gives no process a file system of its own (unshare -rm)");
    return;
  }
  const report = await fullDisk();
  printLine("I18 a full disk", {
    ok: report.problems.length === 0,
    figures: `${report.refusedStatus} and not ready while full, ${report.endedWhileFull} running calls ended all the same, back ${report.backAfterMs} ms after there was room`,
  });
  printProblems(report.problems);
}

export async function faultPrimary(): Promise<void> {
  if ((await requireMongod()) === undefined) return;
  const report = await losePrimary(["kill", "stop"]);
  for (const { what, served, failed, electionMs, settledAfterMs } of report.outages) {
    printLine(`MongoDB primary: ${what}`, {
      ok: failed === 0,
      figures: `${served} calls served on leases meanwhile, ${failed} not; another primary after ${electionMs} ms, settled again after ${settledAfterMs} ms`,
    });
  }
  const { lost, doubleBilled, calls } = report.figures;
  printLine("  all settled afterwards", {
    ok: report.problems.length === 0,
    figures: `${lost} lost, ${doubleBilled} double-billed of ${calls}`,
  });
  printProblems(report.problems);
}
