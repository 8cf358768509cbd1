import type { Federation } from "../../api/types.ts";

export const percentOf = (share: number | null | undefined): string =>
  share === null || share === undefined ? "–" : `${(100 * share).toFixed(1)}%`;

/** The status of a federation in one line. */
export function statusLine({ state, phase, round, rounds, waitingFor, failure }: Federation): string {
  if (failure) return failure.message;
  if (waitingFor !== null) return `waiting for ${waitingFor}`;
  if (state === "running" || state === "paused") return `round ${round} of ${rounds}${phase ? `, ${phase}` : ""}`;
  return `${round} of ${rounds} rounds`;
}

export const hasEnded = ({ state }: Federation): boolean => ["completed", "failed", "stopped"].includes(state);
