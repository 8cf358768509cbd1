import { defined } from "../../common/defined.ts";
import { AppError } from "../../common/errors.ts";
import { FEE_NAMES, type FeeName, type FeePrices } from "../../common/fees.ts";
import { toUsdString } from "../../common/money.ts";
import type { Price } from "../../common/pricing.ts";
import type { LedgerEntry, UsageRow } from "../domain/records.ts";
import { ratesOf } from "../domain/token-price.ts";

/**
 * The receipt of one call: usage, prices, cost and ledger entry. The same call always gives the same receipt.
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
    /** Nano-USD per 1,000,000 units; null if the price is not stored or not known exactly. */
    prices: price && hasKnownTier(row, price) ? unitPrices(row, price) : null,
    cost: row.cost,
    costUsd: toUsdString(row.cost),
    ledgerSeq: entry?.id ?? null,
    entryHash: entry?.hash ?? null,
    createdAt: new Date(row.createdAt).toISOString(),
  };
}

/** Without the split of audio tokens into input and output, the input length, and with it the tier, is not known. */
function hasKnownTier({ usage }: UsageRow, { tiers = [] }: Price): boolean {
  return tiers.length === 0 || usage.audio === 0 || usage.audioOutput !== undefined;
}

function unitPrices(row: UsageRow, price: Price) {
  const { input, output, cachedInput = null, cacheWrite = null, audioInput = null, audioOutput = null, ...others } = ratesOf(row, price);
  // Only for calls that have them: receipts of older calls stay as they were signed.
  const cacheWriteHour = row.usage.cacheWriteHour === undefined ? undefined : others.cacheWriteHour;
  const webSearch = price.unit === "token" && row.usage.amounts?.search ? others.webSearch : undefined;
  const fees = price.unit === "token" && others.fees ? usedFees(row, others.fees) : undefined;
  return {
    unit: price.unit,
    input,
    output,
    cachedInput,
    cacheWrite,
    audioInput,
    audioOutput,
    ...defined({ cacheWriteHour, webSearch, fees }),
  };
}

/** Only those that the call has. */
function usedFees({ usage: { amounts = {} } }: UsageRow, fees: FeePrices): FeePrices | undefined {
  const isUsed = (name: FeeName) => (name === "imageInput" || name === "imageOutput" ? amounts.imageToken : amounts[name]) !== undefined;
  const used = FEE_NAMES.flatMap((name) => (isUsed(name) && fees[name] !== undefined ? [[name, fees[name]]] : []));
  return used.length > 0 ? Object.fromEntries(used) : undefined;
}

/** Refuses to sign a receipt that the ledger does not confirm. */
function refuseDisagreement(row: UsageRow, entry: LedgerEntry | undefined): void {
  const agrees = row.cost === 0n ? entry === undefined : entry?.reference === row.id && entry.amount === row.cost;
  if (agrees) return;
  throw new AppError(
    "SERVER_ERROR",
    "No receipt can be issued: the usage log and the ledger differ for this call. Ask the operator to run the ledger verification.",
    {
      internal: `call ${row.id} cost ${row.cost}, its entry ${row.ledgerSeq ?? "none"} charges ${entry?.amount ?? "nothing"}`,
    },
  );
}
