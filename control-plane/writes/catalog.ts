import { defined } from "../../common/defined.ts";
import { AppError } from "../../common/errors.ts";
import { FEE_NAMES, type FeePrices } from "../../common/fees.ts";
import { type ImagePrices, isImagePriceName } from "../../common/image-prices.ts";
import { PRICE_UNIT_NAMES, type PriceMessage, type PriceTier, type PriceUnit } from "../../common/pricing.ts";
import type { PriceVersion } from "../domain/records.ts";
import { collect } from "../stores/page.ts";
import type { Transaction } from "../stores/store.ts";

/** A price as it is asked for: the unit is not checked yet. */
export interface PriceInput extends Omit<PriceMessage, "unit"> {
  readonly unit?: string | undefined;
  readonly effectiveAt?: Date | undefined;
}

/** A new version of a model's price. Earlier ones stay: usage rows name the version they were priced with. */
export async function addPrice(tx: Transaction, modelId: string, input: PriceInput, now: number): Promise<PriceVersion> {
  const versions = await collect(tx.scan("prices", { index: "byModel", equals: [modelId] }));
  const version = (versions.at(-1)?.version ?? 0) + 1;
  const price: PriceVersion = {
    id: `${modelId}/${version}`,
    modelId,
    version,
    effectiveAt: input.effectiveAt?.getTime() ?? now,
    unit: unitOf(input),
    input: input.input,
    output: input.output,
    ...defined({ cachedInput: input.cachedInput, cacheWrite: input.cacheWrite }),
    ...defined({ audioInput: input.audioInput, audioOutput: input.audioOutput }),
    ...defined({ cacheWriteHour: input.cacheWriteHour, webSearch: input.webSearch, fees: feesOf(input.fees) }),
    ...defined({ images: imagesOf(input.images?.prices) }),
    ...(input.tiers && input.tiers.tiers.length > 0 ? { tiers: input.tiers.tiers.map(tierOf) } : {}),
    createdAt: now,
  };
  await tx.insert("prices", price);
  return price;
}

const OF_TOKENS = ["cachedInput", "cacheWrite", "cacheWriteHour", "audioInput", "audioOutput", "webSearch"] as const;

function feesOf(given: FeePrices = {}): FeePrices | undefined {
  const fees = FEE_NAMES.flatMap((name) => (given[name] === undefined ? [] : [[name, given[name]]]));
  return fees.length > 0 ? Object.fromEntries(fees) : undefined;
}

function imagesOf(prices: ImagePrices = {}): ImagePrices | undefined {
  const unknown = Object.keys(prices).find((name) => !isImagePriceName(name));
  if (unknown !== undefined)
    throw refuse("images", `"${unknown}" must be a size such as 1024x1792, or a quality and a size such as hd/1024x1792`);
  return Object.keys(prices).length > 0 ? prices : undefined;
}

function unitOf({ unit = "token", ...prices }: PriceInput): PriceUnit {
  const known = PRICE_UNIT_NAMES.find((each) => each === unit);
  if (!known) throw refuse("unit", `must be one of ${PRICE_UNIT_NAMES.join(", ")}`);
  const hasOther =
    OF_TOKENS.some((name) => prices[name] !== undefined) || feesOf(prices.fees) !== undefined || prices.tiers?.tiers[0] !== undefined;
  if (known !== "image" && imagesOf(prices.images?.prices)) throw refuse("unit", "must be image for images");
  if (known !== "token" && hasOther) throw refuse("unit", `must be token for ${OF_TOKENS.join(", ")}, fees and tiers`);
  return known;
}

function refuse(field: string, message: string): AppError {
  return new AppError("VALIDATION_ERROR", `pricing.${field}: ${message}`, { details: [{ path: `pricing.${field}`, message }] });
}

function tierOf({ aboveInputTokens, input, output, cachedInput, cacheWrite, cacheWriteHour }: PriceTier): PriceTier {
  return { aboveInputTokens, input, output, ...defined({ cachedInput, cacheWrite, cacheWriteHour }) };
}
