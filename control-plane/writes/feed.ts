import type { ChangeKind } from "../domain/records.ts";
import type { Transaction } from "../stores/store.ts";
import { nextNumber } from "./counters.ts";

/** Tells every edge, in the transaction of the change itself: no change without its row, no row without its change. */
export async function appendChange(tx: Transaction, change: { kind: ChangeKind; subject: string }, now: number): Promise<void> {
  await tx.insert("feed", { id: await nextNumber(tx, "feed"), at: now, ...change });
}
