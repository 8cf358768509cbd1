import { AppError } from "../../common/errors.ts";
import { toUsdString } from "../../common/money.ts";
import type { Price } from "../../common/pricing.ts";
import type { LedgerEntry, UsageRow } from "../domain/records.ts";
import { ratesOf } from "../domain/token-price.ts";

/**
 * What a customer can show of one call: what it used, at which prices, what it cost, and where that stands in the ledger. The same call
 * gives the same receipt, whenever it is asked for.
 */
export function receiptOf(row: UsageRow, { entry, price }: { entry: LedgerEntry | undefined; price: Price | undefined }) {
  refuseDisagreement(row, entry);
  return {
    callId: row.id,
    organizationId: row.organizationId,
    model: row.model,
    provider: row.provider,
    status: row.status,
    usage: { ...row.usage },
    priceVersion: row.priceVersion,
    /** Nano-USD per 1,000,000 units; null where the price is not kept or not known exactly. */
    prices: price && hasKnownTier(row, price) ? unitPrices(row, price) : null,
    cost: row.cost,
    costUsd: toUsdString(row.cost),
    ledgerSeq: entry?.id ?? null,
    entryHash: entry?.hash ?? null,
    createdAt: new Date(row.createdAt).toISOString(),
  };
}

/** A row may not tell input of sound from output of it, so that the length of the input, and with it the tier, is not known. */
function hasKnownTier({ usage }: UsageRow, { tiers = [] }: Price): boolean {
  return tiers.length === 0 || usage.audio === 0 || usage.audioOutput !== undefined;
}

function unitPrices(row: UsageRow, price: Price) {
  const { input, output, cachedInput = null, cacheWrite = null, audioInput = null, audioOutput = null } = ratesOf(row, price);
  return { unit: price.unit, input, output, cachedInput, cacheWrite, audioInput, audioOutput };
}

/** Nothing is signed that the ledger does not say. */
function refuseDisagreement(row: UsageRow, entry: LedgerEntry | undefined): void {
  const agrees = row.cost === 0n ? entry === undefined : entry?.reference === row.id && entry.amount === row.cost;
  if (agrees) return;
  throw new AppError("SERVER_ERROR", "The log and the ledger disagree about this call; there is no receipt for it.", {
    internal: `call ${row.id} cost ${row.cost}, its entry ${row.ledgerSeq ?? "none"} charges ${entry?.amount ?? "nothing"}`,
  });
}
