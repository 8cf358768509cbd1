import { hash } from "node:crypto";
import type { Anchor } from "./ledger-records.ts";

/** The slot whose owner writes anchors. */
export const ANCHOR_SLOT = 0;

/** The counter whose value and hash are those of the newest anchor. */
export const ANCHORS = "anchors";

/** The series of counters of the last entry of each slot that an anchor names. */
export const ANCHORED = "anchored";

export const anchoredCounter = (slot: string): string => `${ANCHORED}/${slot}`;

/** The chain of anchors: SHA-256 over the previous hash and every field of the anchor, in this order. */
export function anchorHash({ previous, id, at, heads }: Omit<Anchor, "hash">): string {
  return hash("sha256", JSON.stringify([previous, id, at, heads]), "hex");
}
