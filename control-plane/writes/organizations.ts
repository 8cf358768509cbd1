import { isDeepStrictEqual } from "node:util";
import { organizationAccount } from "../domain/ledger.ts";
import type { Organization } from "../domain/records.ts";
import { followOrganization } from "../domain/team-state.ts";
import { collect } from "../stores/page.ts";
import type { Transaction } from "../stores/store.ts";
import { followBudget } from "./budgets.ts";
import { appendChange } from "./feed.ts";
import { withThreshold } from "./low-balance.ts";

/** Updates what depends on an organization's settings, in the transaction that changes them. */
export async function followSettings(
  tx: Transaction,
  { before, after }: { before: Organization; after: Organization },
  now: number,
): Promise<void> {
  if (after === before) return;
  await followBudget(tx, { kind: "organization", id: after.id, organizationIds: [after.id] }, { before, after }, now);
  // Whether an edge may lease credit depends on the budget.
  const isLimitedAnew = (before.maxBudget === undefined) !== (after.maxBudget === undefined);
  const isCachedAnew = !isDeepStrictEqual(before.semanticCache, after.semanticCache);
  if (isLimitedAnew || isCachedAnew || before.logContent !== after.logContent) {
    await appendChange(tx, { kind: "organization", subject: after.id }, now);
  }
  if (after.lowBalanceThreshold === before.lowBalanceThreshold) return;
  const account = await tx.get("accounts", organizationAccount(after.id));
  if (account) await tx.put("accounts", withThreshold(account, after.lowBalanceThreshold));
}

/** Blocks or unblocks the organization with all its teams, and notifies edges in the same transaction. */
export async function putBlock(
  tx: Transaction,
  organization: Organization,
  { blocked, reason }: { blocked: boolean; reason: string | undefined },
  now: number,
): Promise<Organization> {
  const { blockedAt: before, blockReason, ...open } = organization;
  const note = reason ?? blockReason;
  const updated: Organization = blocked
    ? { ...open, blockedAt: before ?? now, ...(note === undefined ? {} : { blockReason: note }), updatedAt: now }
    : { ...open, updatedAt: now };
  await tx.put("organizations", updated);
  for (const team of await collect(tx.scan("teams", { index: "byOrganization", equals: [organization.id] }))) {
    const followed = followOrganization(team, updated.blockedAt, now);
    if (followed) await tx.put("teams", followed);
  }
  await appendChange(tx, { kind: "organization", subject: organization.id }, now);
  return updated;
}
