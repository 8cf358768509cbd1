import { budgetName } from "../domain/budgets.ts";
import type { ApiKey } from "../domain/records.ts";
import { collect } from "../stores/page.ts";
import type { Transaction } from "../stores/store.ts";
import { appendChange } from "./feed.ts";
import { notify } from "./notices.ts";

/** Deletes a key and notifies every edge. Its usage stays in the logs. */
export async function deleteKey(tx: Transaction, key: ApiKey, now: number): Promise<void> {
  await tx.remove("keys", key.id);
  await tx.remove("keyUses", key.id);
  await tx.remove("budgetUses", budgetName("key", key.id));
  await appendChange(tx, { kind: "key", subject: key.id }, now);
  await notify(tx, { organizationId: key.organizationId, type: "key.removed", data: { apiKey: keyFacts(key) } }, now);
}

/** Disables the keys that a user created in a team and notifies every edge. The keys stay listed, as blocked. */
export async function disableKeysBy(
  tx: Transaction,
  { teamId, userId }: { teamId: string; userId: number },
  now: number,
): Promise<string[]> {
  const made = await collect(tx.scan("keys", { index: "byCreator", equals: [userId] }));
  const working = made.filter((key) => key.teamId === teamId && key.disabledAt === undefined);
  for (const key of working) {
    await tx.put("keys", { ...key, disabledAt: now });
    await appendChange(tx, { kind: "key", subject: key.id }, now);
  }
  return working.map(({ id }) => id);
}

/** Disables all keys that a user created, or lifts that, and notifies every edge. Returns the number of keys that changed. */
export async function setKeysDisabledWithUser(
  tx: Transaction,
  { userId, disabledAt }: { userId: number; disabledAt: number | undefined },
  now: number,
): Promise<number> {
  const made = await collect(tx.scan("keys", { index: "byCreator", equals: [userId] }));
  const changing = made.filter((key) => key.disabledWithUserAt !== disabledAt);
  for (const { disabledWithUserAt: _, ...key } of changing) {
    await tx.put("keys", { ...key, ...(disabledAt === undefined ? {} : { disabledWithUserAt: disabledAt }) });
    await appendChange(tx, { kind: "key", subject: key.id }, now);
  }
  return changing.length;
}

/** The fields of a key that webhooks receive. */
export function keyFacts({ id, name, maskedKey, teamId, createdBy }: ApiKey) {
  return { id, name, maskedKey, teamId, createdBy };
}
