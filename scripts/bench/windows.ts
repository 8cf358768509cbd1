import type { Contender } from "./contender.ts";
import { cpuSeconds, processTree, rssMb } from "./cpu.ts";
import { type Load, load, percentile } from "./load.ts";

/** One window of calls to a gateway. */
interface Figure {
  readonly cpuPer1000: number;
  readonly p50: number;
  readonly p99: number;
}

export interface Cell extends Figure {
  /** Why the gateway cannot do this window, such as a rate above its capacity. */
  readonly failed?: string | undefined;
}

/** Makes the calls, waits until everything that they caused is done, and returns what they took. */
export async function window(contender: Contender, asked: Load): Promise<Cell> {
  const before = usedBy(contender);
  try {
    const times = await load(contender, asked);
    await contender.settled();
    return { cpuPer1000: ((usedBy(contender) - before) / asked.calls) * 1000, p50: percentile(times, 0.5), p99: percentile(times, 0.99) };
  } catch (error) {
    return { cpuPer1000: Number.NaN, p50: Number.NaN, p99: Number.NaN, failed: `failed: ${String(error).slice(0, 120)}` };
  }
}

/** CPU seconds of all processes of a gateway so far. */
export function usedBy({ roots }: Pick<Contender, "roots">): number {
  return roots.flatMap(processTree).reduce((sum, pid) => sum + cpuSeconds(pid), 0);
}

/** Resident memory of all processes of a gateway, in MB. */
export function rssOf({ roots }: Pick<Contender, "roots">): number {
  return roots.flatMap(processTree).reduce((sum, pid) => sum + rssMb(pid), 0);
}

/** The median of each figure; a failed window counts for all of them. */
export function middle(cells: readonly Cell[]): Cell {
  const failed = cells.find((cell) => cell.failed !== undefined);
  if (failed) return failed;
  const of = (name: keyof Figure) =>
    percentile(
      cells.map((cell) => cell[name]),
      0.5,
    );
  return { cpuPer1000: of("cpuPer1000"), p50: of("p50"), p99: of("p99") };
}
