import { createHash } from "node:crypto";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Account } from "../domain/records.ts";

const ACCOUNTS_A_TURN = 2_000;

/**
 * SHA-256 over balance and totals of all accounts, in the order of their ids. An account that is zero in every field is the same as none. The number of
 * an account's last entry is left out: it cannot be computed backwards from later entries.
 */
export async function hashAccounts(accounts: ReadonlyMap<string, Account>): Promise<string> {
  const digest = createHash("sha256");
  for (const [place, id] of [...accounts.keys()].sort().entries()) {
    const fields = accounts.get(id);
    const values = fields ? [fields.balance, fields.purchased, fields.granted, fields.rewarded, fields.used] : [];
    if (values.some((value) => value !== 0n)) digest.update(`${JSON.stringify([id, ...values.map(String)])}\n`);
    if (place % ACCOUNTS_A_TURN === ACCOUNTS_A_TURN - 1) await nextTurn();
  }
  return digest.digest("hex");
}
