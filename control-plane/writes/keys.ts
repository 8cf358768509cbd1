import { budgetName } from "../domain/budgets.ts";
import type { ApiKey } from "../domain/records.ts";
import { collect } from "../stores/page.ts";
import type { Reader, Transaction } from "../stores/store.ts";
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

/**
 * The keys whose secret a user may know: those that the user created, or was the last to rotate. A key that another user rotated since stays among
 * them: its creator may still know the secret for the grace period, and has perhaps been sent the new one.
 */
export async function keysKnownTo(reader: Reader, userId: number): Promise<ApiKey[]> {
  const made = await collect(reader.scan("keys", { index: "byCreator", equals: [userId] }));
  const rotated = await collect(reader.scan("keys", { index: "byRotator", equals: [userId] }));
  return [...made, ...rotated.filter(({ createdBy }) => createdBy !== userId)];
}

/** Disables the keys of a team whose secret a user may know, and notifies every edge. The keys stay listed, as blocked. */
export async function disableKeysBy(
  tx: Transaction,
  { teamId, userId }: { teamId: string; userId: number },
  now: number,
): Promise<string[]> {
  const known = await keysKnownTo(tx, userId);
  const working = known.filter((key) => key.teamId === teamId && key.disabledAt === undefined);
  for (const key of working) await disableKey(tx, key, now);
  return working.map(({ id }) => id);
}

/** Disables a key until it is rotated, and notifies every edge. */
export async function disableKey(tx: Transaction, key: ApiKey, now: number): Promise<void> {
  await tx.put("keys", { ...key, disabledAt: now });
  await appendChange(tx, { kind: "key", subject: key.id }, now);
}

/** Disables all keys whose secret a user may know, or lifts that, and notifies every edge. Returns the number of keys that changed. */
export async function setKeysDisabledWithUser(
  tx: Transaction,
  { userId, disabledAt }: { userId: number; disabledAt: number | undefined },
  now: number,
): Promise<number> {
  const known = await keysKnownTo(tx, userId);
  const kept = disabledAt === undefined ? await keptDisabled(tx, { userId, keys: known }) : new Set<ApiKey>();
  const changing = known.filter((key) => key.disabledWithUserAt !== disabledAt && !kept.has(key));
  for (const { disabledWithUserAt: _, ...key } of changing) {
    await tx.put("keys", { ...key, ...(disabledAt === undefined ? {} : { disabledWithUserAt: disabledAt }) });
    await appendChange(tx, { kind: "key", subject: key.id }, now);
  }
  return changing.length;
}

/** Keys of a user who is enabled again that another disabled user may know, too. */
async function keptDisabled(tx: Transaction, { userId, keys }: { userId: number; keys: readonly ApiKey[] }): Promise<Set<ApiKey>> {
  const others = keys.map(({ createdBy, rotatedBy = createdBy }) => (createdBy === userId ? rotatedBy : createdBy));
  const users = await tx.getMany("users", others);
  return new Set(keys.filter((_, index) => others[index] !== userId && users[index]?.disabledAt !== undefined));
}

/** The fields of a key that webhooks receive. */
export function keyFacts({ id, name, maskedKey, teamId, createdBy }: ApiKey) {
  return { id, name, maskedKey, teamId, createdBy };
}
