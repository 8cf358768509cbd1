import { hash } from "node:crypto";
import type { Checkpoint } from "./ledger-records.ts";

/** The counter whose value and hash are those of the newest checkpoint. */
export const CHECKPOINTS = "checkpoints";

/** The chain of checkpoints: SHA-256 over the previous hash and every field of the checkpoint, in this order. */
export function checkpointHash(content: Omit<Checkpoint, "hash">): string {
  const { previous, id, at, slots, anchor, anchorHash, entries, heads, accountsHash } = content;
  return hash("sha256", JSON.stringify([previous, id, at, slots, anchor, anchorHash, entries, heads, accountsHash]), "hex");
}
