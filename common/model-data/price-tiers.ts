import type { TokenPrices } from "./list-prices.ts";
import type { ModelData } from "./model-data.ts";

/** Prices of a whole call whose input has more tokens than that. */
export interface PriceTier extends TokenPrices {
  readonly aboveInputTokens: number;
}

/** The tiers of a public list price, ascending; undefined where the price is the same for all lengths. */
export function listedTiers(data: ModelData | undefined): PriceTier[] | undefined {
  return data?.tiers?.map(({ aboveInputTokens, pricing }) => ({ aboveInputTokens, ...pricing }));
}
