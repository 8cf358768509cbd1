import { revisionOf } from "../../common/feed-place.ts";
import type { ChangeKind } from "../domain/records.ts";
import { feedCounter, laneOfScope, scopeOfChange } from "../stores/feed-lanes.ts";
import type { Transaction } from "../stores/store.ts";

/**
 * Appends a feed row in the transaction of the change, so that there is never one without the other. It is numbered in a scope of the
 * transaction: rows of one scope are committed in the order of their numbers, and transactions of different scopes do not wait for each other.
 */
export async function appendChange(tx: Transaction, change: { kind: ChangeKind; subject: string }, now: number): Promise<void> {
  const scope = scopeOfChange(tx, change);
  const id = feedCounter(scope);
  const value = ((await tx.get("counters", id))?.value ?? 0) + 1;
  await tx.put("counters", { id, value });
  await tx.insert("feed", { id: revisionOf(laneOfScope(scope) ?? 0, value), at: now, ...change });
}
