import type { ChangeKind } from "../domain/records.ts";
import type { Transaction } from "../stores/store.ts";
import { nextNumber } from "./counters.ts";

/** Appends a feed row in the transaction of the change, so that there is never one without the other. */
export async function appendChange(tx: Transaction, change: { kind: ChangeKind; subject: string }, now: number): Promise<void> {
  await tx.insert("feed", { id: await nextNumber(tx, "feed"), at: now, ...change });
}
