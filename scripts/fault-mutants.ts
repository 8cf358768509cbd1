/** `make fault-mutants`: plants sixteen bugs, one after the other; the simulation must find each by the invariant that it breaks. */

import { PLANTED_BUGS, type PlantedBug } from "../test/faults/sim/mutants.ts";
import { INVARIANTS } from "../test/faults/sim/oracle.ts";
import { simulate } from "../test/faults/sim/simulate.ts";
import { printLine, seconds } from "./fault/print-line.ts";

const SEEDS_MAX = 2000;

const startedMs = performance.now();
let caught = 0;
for (const bug of PLANTED_BUGS) if (await isCaught(bug)) caught++;
console.log(`fault-mutants: ${caught}/${PLANTED_BUGS.length} caught in ${seconds(performance.now() - startedMs)}`);

async function isCaught(bug: PlantedBug): Promise<boolean> {
  for (let seed = 0; seed < SEEDS_MAX; seed++) {
    const { violations } = await simulate(seed, { mutant: bug });
    const violation = violations.find(({ invariant }) => invariant === bug.caughtBy);
    if (!violation) continue;
    printLine(bug.name, {
      ok: true,
      figures: `caught by ${bug.caughtBy} (${INVARIANTS[bug.caughtBy]}) at SEED=${seed}: ${violation.what}`,
    });
    return true;
  }
  printLine(bug.name, { ok: false, figures: `${SEEDS_MAX} seeds did not notice it` });
  return false;
}
