import type { VerifyLedgerResponse } from "../../../proto/gen/tributary/ledger/v1/ledger.ts";
import type { UsageRow } from "../../domain/records.ts";
import { checkEntries } from "../../proof/check-entries.ts";
import { checkRollups, type RollupDifference } from "../../proof/check-rollups.ts";
import { findBadRow } from "../../proof/check-rows.ts";
import type { LedgerFault } from "../../proof/ledger-fault.ts";
import type { Store } from "../../stores/store.ts";

/**
 * Re-reads all the books: the ledger entry by entry, its accounts, the calls it charges, and the sums that charts are drawn from. Names
 * the first thing that is wrong. What is posted while it runs may be left out; nothing is locked for it.
 */
export async function checkLedger(store: Store, signal: AbortSignal): Promise<VerifyLedgerResponse> {
  const ledger = await checkEntries(store, signal);
  const usage = ledger.fault ? NOTHING_READ : await checkUsage(store, signal);
  const fault = ledger.fault ?? usage.fault;
  return {
    ok: fault === undefined && ledger.sum === 0n,
    entries: BigInt(ledger.entries),
    sum: ledger.sum,
    lastSeq: BigInt(ledger.head.seq),
    hash: ledger.head.hash,
    firstBad: fault && { ...fault, seq: BigInt(fault.seq) },
    accounts: BigInt(ledger.accounts),
    usageRows: BigInt(usage.rows),
    rollups: BigInt(usage.rollups),
  };
}

interface UsageCheck {
  readonly rows: number;
  readonly rollups: number;
  readonly fault: LedgerFault | undefined;
}

const NOTHING_READ: UsageCheck = { rows: 0, rollups: 0, fault: undefined };

/** Rows against their entries, and the roll-ups made again from the same rows, in one reading. */
async function checkUsage(store: Store, signal: AbortSignal): Promise<UsageCheck> {
  let rows = 0;
  let badRow: LedgerFault | undefined;
  const onPage = async (page: readonly UsageRow[]) => {
    rows += page.length;
    badRow ??= await findBadRow(store, page);
  };
  const { rollups, difference } = await checkRollups(store, { signal, onPage });
  // A row that is wrong makes its roll-up differ: the row is the cause.
  return { rows, rollups, fault: badRow ?? (difference && badRollup(difference)) };
}

function badRollup({ rollupId, reason }: RollupDifference): LedgerFault {
  return { kind: "rollup", seq: 0, record: `roll-up ${rollupId}`, reason };
}
