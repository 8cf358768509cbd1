import { createHash } from "node:crypto";

/**
 * Which of the planes a slot belongs to: the one whose hash with the slot is the highest. Every process computes the same, and a plane that
 * comes or goes moves only the slots that it gets or had.
 */
export function placeOf(slot: number, planes: readonly string[]): string | undefined {
  let best: { id: string; weight: string } | undefined;
  for (const id of planes) {
    const weight = weightOf(id, slot);
    if (best === undefined || weight > best.weight) best = { id, weight };
  }
  return best?.id;
}

function weightOf(id: string, slot: number): string {
  return createHash("sha256").update(`${id} ${slot}`).digest("hex");
}
