import { median } from "./median.ts";

/** A figure with its goal, as a row of a table. */
export interface GoalRow {
  readonly what: string;
  readonly value: number;
  readonly unit: string;
  readonly most: number;
}

export function goalTable(rows: readonly GoalRow[]): string {
  const lines = rows.map(({ what, value, unit, most }) => {
    // Not a number is a failure, too.
    const verdict = value <= most ? "yes" : "**no**";
    return `| ${what} | ${shown(value)} ${unit} | ${shown(most)} ${unit} | ${verdict} |`;
  });
  return ["| | measured | goal: at most | met |", "|---|---|---|---|", ...lines].join("\n");
}

/**
 * How many times of the plain cost another one is. Windows of one round see the same other load, so each round has its own ratio, and the
 * median counts.
 */
export function ratioByRound(plain: readonly number[], other: readonly number[]): number {
  if (plain.length !== other.length) throw new Error("each round must have measured both");
  return median(plain.map((cost, round) => (other[round] ?? Number.NaN) / cost));
}

/** Without zeros at the end. */
function shown(value: number): string {
  return String(Number(value.toFixed(Math.abs(value) >= 100 ? 0 : 2)));
}
