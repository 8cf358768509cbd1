import { toUsdString } from "../../common/money.ts";
import { type LedgerState, organizationAccount } from "../domain/ledger.ts";
import type { Account } from "../domain/records.ts";
import type { Transaction } from "../stores/store.ts";
import { notify } from "./notices.ts";

/**
 * Notifies of every balance that fell below its threshold, once until incoming credits rearm it. The threshold is stored in the account,
 * so a settlement needs no further read. Changes `ledger`, so it must run before `writeLedger`.
 */
export async function watchThresholds(tx: Transaction, ledger: LedgerState, organizationIds: Iterable<string>, now: number): Promise<void> {
  for (const organizationId of organizationIds) {
    const account = ledger.accounts.get(organizationAccount(organizationId));
    if (account?.lowAt === undefined || account.balance >= account.lowAt) continue;
    const { lowAt, ...notified } = account;
    ledger.accounts.set(account.id, notified);
    const data = { balance: account.balance, balanceUsd: toUsdString(account.balance), threshold: lowAt, thresholdUsd: toUsdString(lowAt) };
    await notify(tx, { organizationId, type: "balance.low", data }, now);
  }
}

/** Rearms the threshold after credits came in. */
export async function rearmThreshold(tx: Transaction, ledger: LedgerState, organizationId: string): Promise<void> {
  const account = ledger.accounts.get(organizationAccount(organizationId));
  const threshold = (await tx.get("organizations", organizationId))?.lowBalanceThreshold;
  if (account) ledger.accounts.set(account.id, withThreshold(account, threshold));
}

/** Sets the threshold of an account; a balance that is already below it cannot fall below it, so it gets none. */
export function withThreshold({ lowAt: _, ...account }: Account, threshold: bigint | undefined): Account {
  return threshold !== undefined && account.balance >= threshold ? { ...account, lowAt: threshold } : account;
}
