import type { VerifyLedgerResponse } from "../../../proto/gen/tributary/ledger/v1/ledger.ts";
import type { UsageRow } from "../../domain/records.ts";
import { checkAnchors, newestAnchor } from "../../proof/check-anchors.ts";
import { checkEntries } from "../../proof/check-entries.ts";
import { checkRollups, type RollupDifference } from "../../proof/check-rollups.ts";
import { findBadRow } from "../../proof/check-rows.ts";
import { findLoneRow } from "../../proof/check-transit.ts";
import type { LedgerFault } from "../../proof/ledger-fault.ts";
import type { Store } from "../../stores/store.ts";

/**
 * Verifies the ledger entry by entry, its anchors and accounts, the calls it charges and the roll-ups of charts, and returns the first fault. It locks
 * nothing; entries that are posted while it runs may be left out.
 */
export async function checkLedger(store: Store, signal: AbortSignal): Promise<VerifyLedgerResponse> {
  const newest = await newestAnchor(store);
  const ledger = await checkEntries(store, signal);
  const ledgerFault =
    ledger.fault ?? (await checkAnchors(store, { newest, snapshot: ledger.snapshot, signal })) ?? (await findLoneRow(store, signal));
  const usage = ledgerFault ? NOTHING_READ : await checkUsage(store, signal);
  const fault = ledgerFault ?? usage.fault;
  return {
    ok: fault === undefined && ledger.sum === 0n,
    entries: BigInt(ledger.entries),
    sum: ledger.sum,
    lastSeq: BigInt(ledger.lastSeq),
    hash: newest.hash,
    firstBad: fault && { ...fault, seq: BigInt(fault.seq) },
    accounts: BigInt(ledger.accounts),
    usageRows: BigInt(usage.rows),
    rollups: BigInt(usage.rollups),
    anchors: BigInt(newest.number),
  };
}

interface UsageCheck {
  readonly rows: number;
  readonly rollups: number;
  readonly fault: LedgerFault | undefined;
}

const NOTHING_READ: UsageCheck = { rows: 0, rollups: 0, fault: undefined };

/** Checks rows against their entries, and roll-ups rebuilt from the same rows, in one pass. */
async function checkUsage(store: Store, signal: AbortSignal): Promise<UsageCheck> {
  let rows = 0;
  let badRow: LedgerFault | undefined;
  const onPage = async (page: readonly UsageRow[]) => {
    rows += page.length;
    badRow ??= await findBadRow(store, page);
  };
  const { rollups, difference } = await checkRollups(store, { signal, onPage });
  // A wrong row makes its roll-up differ, so the row is reported as the cause.
  return { rows, rollups, fault: badRow ?? (difference && badRollup(difference)) };
}

function badRollup({ rollupId, reason }: RollupDifference): LedgerFault {
  return { kind: "rollup", seq: 0, record: `roll-up ${rollupId}`, reason };
}
