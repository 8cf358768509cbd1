import { defined } from "../../common/defined.ts";
import { AppError } from "../../common/errors.ts";
import { PRICE_UNITS, type Price, type PriceTier, type PriceUnit } from "../domain/records.ts";
import { collect } from "../stores/page.ts";
import type { Transaction } from "../stores/store.ts";

export interface PriceInput {
  /** Absent: token. */
  unit?: string | undefined;
  audioInput?: bigint | undefined;
  audioOutput?: bigint | undefined;
  input: bigint;
  output: bigint;
  cachedInput?: bigint | undefined;
  cacheWrite?: bigint | undefined;
  effectiveAt?: Date | undefined;
  tiers?: { tiers: readonly TierInput[] } | undefined;
}

interface TierInput {
  aboveInputTokens: number;
  input: bigint;
  output: bigint;
  cachedInput?: bigint | undefined;
  cacheWrite?: bigint | undefined;
}

/** A new version of a model's price. Earlier ones stay: usage rows name the version they were priced with. */
export async function addPrice(tx: Transaction, modelId: string, input: PriceInput, now: number): Promise<Price> {
  const versions = await collect(tx.scan("prices", { index: "byModel", equals: [modelId] }));
  const version = (versions.at(-1)?.version ?? 0) + 1;
  const price: Price = {
    id: `${modelId}/${version}`,
    modelId,
    version,
    effectiveAt: input.effectiveAt?.getTime() ?? now,
    unit: unitOf(input),
    input: input.input,
    output: input.output,
    ...defined({ cachedInput: input.cachedInput, cacheWrite: input.cacheWrite }),
    ...defined({ audioInput: input.audioInput, audioOutput: input.audioOutput }),
    ...(input.tiers && input.tiers.tiers.length > 0 ? { tiers: input.tiers.tiers.map(tierOf) } : {}),
    createdAt: now,
  };
  await tx.insert("prices", price);
  return price;
}

function unitOf({ unit = "token", cachedInput, cacheWrite, audioInput, audioOutput, tiers }: PriceInput): PriceUnit {
  const known = PRICE_UNITS.find((each) => each === unit);
  if (!known) throw refuse("unit", `must be one of ${PRICE_UNITS.join(", ")}`);
  const ofTokens = [cachedInput, cacheWrite, audioInput, audioOutput, tiers?.tiers[0]];
  if (known !== "token" && ofTokens.some((price) => price !== undefined))
    throw refuse("unit", "only tokens are priced by class and length");
  return known;
}

function refuse(field: string, message: string): AppError {
  return new AppError("VALIDATION_ERROR", `pricing.${field}: ${message}`, { details: [{ path: `pricing.${field}`, message }] });
}

function tierOf({ aboveInputTokens, input, output, cachedInput, cacheWrite }: TierInput): PriceTier {
  return { aboveInputTokens, input, output, ...defined({ cachedInput, cacheWrite }) };
}
