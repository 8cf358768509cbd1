import type { ApiKey } from "../domain/records.ts";
import type { Transaction } from "../stores/store.ts";
import { appendChange } from "./feed.ts";

/** Takes a key away for good; every edge hears of it. What it used stays in the logs. */
export async function deleteKey(tx: Transaction, key: ApiKey, now: number): Promise<void> {
  await tx.remove("keys", key.id);
  await tx.remove("keyUses", key.id);
  await appendChange(tx, { kind: "key", subject: key.id }, now);
}
