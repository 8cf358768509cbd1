import { CLOSED_HEAD, emptyHead } from "../../domain/ledger.ts";
import type { Transaction } from "../store.ts";
import type { Migration } from "./migration.ts";

/**
 * Divides the ledger into slots. No entry is rewritten, so the step takes as long for a million entries as for one. In a store of one slot
 * the chain goes on as that slot's chain. Otherwise it is closed: its head stays as it is, and every slot's chain begins with a hash over it.
 */
export const ledgerSlots: Migration = { version: 2, readableBy: 2, name: "a ledger chain for each slot", up: divideLedger };

/** The step itself, also for a store of one slot that is copied into a store of many. Changes nothing if it ran before. */
export async function divideLedger(tx: Transaction): Promise<void> {
  const closed = await tx.get("ledgerHead", CLOSED_HEAD);
  if (tx.slots === 1) {
    if (!closed) return;
    await tx.put("ledgerHead", { ...closed, id: "0" });
    await tx.remove("ledgerHead", CLOSED_HEAD);
    return;
  }
  // A store of one slot has the end of its only chain under the number of that slot.
  const end = closed ?? (await tx.get("ledgerHead", "0"));
  if (!end || (closed && (await tx.get("ledgerHead", "1")))) return;
  await tx.put("ledgerHead", { ...end, id: CLOSED_HEAD });
  for (let slot = 0; slot < tx.slots; slot++) await tx.put("ledgerHead", emptyHead(slot, end));
}
