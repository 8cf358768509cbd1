import type { System } from "../helpers/system.ts";
import { formatTargets } from "./format-targets.ts";
import { readerTargets } from "./reader-targets.ts";
import { socketTargets } from "./socket-targets.ts";
import type { FuzzTarget } from "./target.ts";

export async function allTargets(system: System): Promise<FuzzTarget[]> {
  return [...readerTargets, ...(await formatTargets()), ...(await socketTargets(system))];
}

/** The targets' parts of all cases. */
export function partsOf(targets: readonly FuzzTarget[], cases: number): { target: FuzzTarget; cases: number }[] {
  const shares = targets.reduce((sum, { share }) => sum + share, 0);
  return targets.map((target) => ({ target, cases: Math.ceil((cases * target.share) / shares) }));
}

/** Error lines of the processes: what is answered as a 500 is logged at this level, and so is an uncaught error. */
export function errorLines(system: System): string[] {
  return system
    .logs()
    .split("\n")
    .filter((line) => /"level":"(error|fatal)"/.test(line));
}
