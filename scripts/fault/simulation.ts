import { fork } from "node:child_process";
import { once } from "node:events";
import { resolve } from "node:path";
import { ALL_FAULTS } from "../../test/faults/sim/fault-points.ts";
import { INVARIANTS } from "../../test/faults/sim/oracle.ts";
import { simulate } from "../../test/faults/sim/simulate.ts";
import { addTallies, type SeedTally } from "../../test/faults/sim/tally.ts";
import { counted, printLine, printProblems, seconds } from "./print-line.ts";

const PROCESSES = 2;
const entry = resolve(import.meta.dirname, "../../test/faults/sim/seeds-main.ts");

/** Runs seeds on all cores and prints a line per invariant, and one for faults that never occurred. */
export async function faultSimulation({ seeds, budgetMs }: { seeds: number; budgetMs: number }): Promise<void> {
  const startedMs = performance.now();
  const parts = await Promise.all(Array.from({ length: PROCESSES }, (_, first) => playSeeds([first, seeds, PROCESSES, budgetMs])));
  const tally = addTallies(parts);
  const played = `${counted(tally.seeds)} seeds, ${counted(tally.admitted)} calls, ${counted(tally.cut)} cut by deaths`;
  printLine("simulation", {
    ok: tally.seeds === seeds,
    figures: `${played}, ${counted(tally.events)} events in ${seconds(performance.now() - startedMs)}${tally.seeds < seeds ? `; the time was up before ${counted(seeds)}` : ""}`,
  });
  for (const [name, what] of Object.entries({
    ...INVARIANTS,
    replay: `a seed played twice does the same (${tally.replayed} played twice)`,
  })) {
    const broken = tally.violations.filter(({ invariant }) => invariant === name);
    printLine(`  ${name}`, { ok: broken.length === 0, figures: `${broken.length} broken: ${what}${worstOf(name, tally)}` });
    printProblems(broken.map(({ seed, what: problem }) => `SEED=${seed} ${problem}`));
  }
  const missed = ALL_FAULTS.filter((fault) => (tally.hits[fault] ?? 0) === 0);
  const made = Object.values(tally.hits).reduce((sum, count) => sum + count, 0);
  const rarest = Math.min(...ALL_FAULTS.map((fault) => tally.hits[fault] ?? 0));
  printLine("  fault points", {
    ok: missed.length === 0,
    figures: `${ALL_FAULTS.length - missed.length} of ${ALL_FAULTS.length} kinds of fault happened, ${counted(made)} in all, the rarest ${rarest} times`,
  });
  printProblems(missed.map((fault) => `never happened: ${fault}`));
}

function worstOf(invariant: string, { overspentNano, unbilledNano }: SeedTally): string {
  if (invariant === "I6") return ` (at the most ${counted(overspentNano)} nano-USD below zero, late settlements among them)`;
  return invariant === "I16" ? ` (at the most ${counted(unbilledNano)} nano-USD of a call not billed)` : "";
}

/** Prints the trace of one seed and the invariants it broke. */
export async function replaySeed(seed: number): Promise<void> {
  const { lines, violations, hash } = await simulate(seed, { trace: true });
  for (const line of lines) console.log(line);
  printLine(`SEED=${seed}`, { ok: violations.length === 0, figures: `${violations.length} broken, event hash ${hash}` });
  printProblems(violations.map(({ invariant, what }) => `${invariant} ${what}`));
}

async function playSeeds(parameters: readonly number[]): Promise<SeedTally> {
  const child = fork(entry, parameters.map(String));
  const received = once(child, "message").then(([tally]) => tally as SeedTally);
  const ended = once(child, "exit").then(([code]) => Promise.reject(new Error(`a process that plays seeds ended with ${code}`)));
  return await Promise.race([received, ended]);
}
