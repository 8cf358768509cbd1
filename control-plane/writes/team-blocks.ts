import { toUsdString } from "../../common/money.ts";
import { followBalance } from "../domain/team-state.ts";
import { collect } from "../stores/page.ts";
import type { Transaction } from "../stores/store.ts";
import { appendChange } from "./feed.ts";
import { notify } from "./notices.ts";

/** Blocks or unblocks the teams of each organization according to its new balance, in the transaction that changed the balance. */
export async function followBalances(tx: Transaction, balances: ReadonlyMap<string, bigint>, now: number): Promise<void> {
  for (const [organizationId, balance] of balances) {
    const teams = await collect(tx.scan("teams", { index: "byOrganization", equals: [organizationId] }));
    let changed = false;
    for (const team of teams) {
      const next = followBalance(team, balance, now);
      if (!next) continue;
      await tx.put("teams", next);
      changed = true;
    }
    if (!changed) continue;
    await appendChange(tx, { kind: "organization", subject: organizationId }, now);
    const data = { balance, balanceUsd: toUsdString(balance) };
    await notify(tx, { organizationId, type: balance < 0n ? "balance.blocked" : "balance.unblocked", data }, now);
  }
}
