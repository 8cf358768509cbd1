import type { VerifyLedgerResponse } from "../../../proto/gen/tributary/ledger/v1/ledger.ts";
import type { Checkpoint } from "../../domain/ledger-records.ts";
import type { UsageRow } from "../../domain/records.ts";
import { ROLLUP_MS } from "../../domain/settlement.ts";
import { checkAnchors, type NewestAnchor, newestAnchor } from "../../proof/check-anchors.ts";
import { readCheckpoints, readNewestCheckpoint } from "../../proof/check-checkpoints.ts";
import { checkEntries, type EntriesCheck } from "../../proof/check-entries.ts";
import { checkRollups, type RollupDifference } from "../../proof/check-rollups.ts";
import { findBadRow } from "../../proof/check-rows.ts";
import { findLoneRow } from "../../proof/check-transit.ts";
import type { LedgerFault } from "../../proof/ledger-fault.ts";
import { inPages } from "../../proof/pages.ts";
import type { Store } from "../../stores/store.ts";

export interface VerifyOptions {
  /** Begins at the newest checkpoint, if there is one, and takes what was before as right. */
  readonly isFast?: boolean;
}

/**
 * Verifies the ledger entry by entry, its checkpoints, anchors and accounts, the calls it charges and the roll-ups of charts, and returns the first fault.
 * It locks nothing; entries that are posted while it runs may be left out.
 */
export async function checkLedger(
  store: Store,
  signal: AbortSignal,
  { isFast = false }: VerifyOptions = {},
): Promise<VerifyLedgerResponse> {
  const { newest, ledger, since, fault: ledgerFault } = await checkChains(store, signal, { isFast });
  const usage = ledgerFault ? NOTHING_READ : await checkUsage(store, { since, signal });
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
    checkpoint: since && { number: BigInt(since.id), at: new Date(since.at) },
  };
}

/** Outcome of the check of chains, checkpoints and anchors. */
export interface ChainsCheck {
  readonly newest: NewestAnchor;
  readonly ledger: EntriesCheck;
  /** The checkpoint at which the check began. */
  readonly since: Checkpoint | undefined;
  readonly fault: LedgerFault | undefined;
}

/** Verifies what a checkpoint is written of: all chains with their calls, the accounts, anchors and amounts in transit. */
export async function checkChains(store: Store, signal: AbortSignal, { isFast = false }: VerifyOptions = {}): Promise<ChainsCheck> {
  const newest = await newestAnchor(store);
  const { checkpoints, fault: badCheckpoint } = await (isFast ? readNewestCheckpoint(store) : readCheckpoints(store, signal));
  const since = isFast ? checkpoints.at(-1) : undefined;
  const ledger = await checkEntries(store, { ...(since ? { since } : { checkpoints }), signal });
  const after = since && { number: since.anchor, hash: since.anchorHash };
  const fault =
    badCheckpoint ??
    ledger.fault ??
    (await checkAnchors(store, { newest, ...(after ? { after } : {}), snapshot: ledger.snapshot, signal })) ??
    (await findLoneRow(store, signal));
  return { newest, ledger, since, fault };
}

interface UsageCheck {
  readonly rows: number;
  readonly rollups: number;
  readonly fault: LedgerFault | undefined;
}

const NOTHING_READ: UsageCheck = { rows: 0, rollups: 0, fault: undefined };

/** Checks rows against their entries, and roll-ups rebuilt from the same rows, in one pass; since a checkpoint, one organization after the other. */
async function checkUsage(store: Store, { since, signal }: { since: Checkpoint | undefined; signal: AbortSignal }): Promise<UsageCheck> {
  if (!since) return checkRows(store, { signal });
  const from = since.at - (since.at % ROLLUP_MS);
  let [rows, rollups] = [0, 0];
  for await (const page of inPages(store, "organizations", { signal })) {
    for (const { id: organizationId } of page) {
      const check = await checkRows(store, { organizationId, from, signal });
      rows += check.rows;
      rollups += check.rollups;
      if (check.fault) return { rows, rollups, fault: check.fault };
    }
  }
  return { rows, rollups, fault: undefined };
}

async function checkRows(store: Store, scope: { organizationId?: string; from?: number; signal: AbortSignal }): Promise<UsageCheck> {
  let rows = 0;
  let badRow: LedgerFault | undefined;
  const onPage = async (page: readonly UsageRow[]) => {
    rows += page.length;
    badRow ??= await findBadRow(store, page);
  };
  const { rollups, difference } = await checkRollups(store, { ...scope, onPage });
  // A wrong row makes its roll-up differ, so the row is reported as the cause.
  return { rows, rollups, fault: badRow ?? (difference && badRollup(difference)) };
}

function badRollup({ rollupId, reason }: RollupDifference): LedgerFault {
  return { kind: "rollup", seq: 0, record: `roll-up ${rollupId}`, reason };
}
