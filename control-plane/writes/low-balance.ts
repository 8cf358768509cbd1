import { toUsdString } from "../../common/money.ts";
import { type Books, organizationAccount } from "../domain/ledger.ts";
import type { Account } from "../domain/records.ts";
import type { Transaction } from "../stores/store.ts";
import { notify } from "./notices.ts";

/**
 * Tells of every balance that fell below its threshold: once, until credits that come in lift it again. The threshold stands in the account,
 * so a settlement looks at nothing that it has not read already. Changes `books`; before they are closed.
 */
export async function watchThresholds(tx: Transaction, books: Books, organizationIds: Iterable<string>, now: number): Promise<void> {
  for (const organizationId of organizationIds) {
    const account = books.accounts.get(organizationAccount(organizationId));
    if (account?.lowAt === undefined || account.balance >= account.lowAt) continue;
    const { lowAt, ...told } = account;
    books.accounts.set(account.id, told);
    const data = { balance: account.balance, balanceUsd: toUsdString(account.balance), threshold: lowAt, thresholdUsd: toUsdString(lowAt) };
    await notify(tx, { organizationId, type: "balance.low", data }, now);
  }
}

/** Credits came in: the owner wants to know again when the balance falls. */
export async function rearmThreshold(tx: Transaction, books: Books, organizationId: string): Promise<void> {
  const account = books.accounts.get(organizationAccount(organizationId));
  const threshold = (await tx.get("organizations", organizationId))?.lowBalanceThreshold;
  if (account) books.accounts.set(account.id, withThreshold(account, threshold));
}

/** An account that watches a threshold; one that is below it already does not: nothing falls there any more. */
export function withThreshold({ lowAt: _, ...account }: Account, threshold: bigint | undefined): Account {
  return threshold !== undefined && account.balance >= threshold ? { ...account, lowAt: threshold } : account;
}
