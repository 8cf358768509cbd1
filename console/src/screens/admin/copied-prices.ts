import type { ListedModel } from "../../api/types.ts";

/** Prices that a form of input and output does not show are copied, because a price version replaces all prices. */
export function copiedPrices(pricing: ListedModel["pricing"] | undefined): object {
  if (!pricing) return { unit: "token" };
  const { unit, cachedInput, cacheWrite, cacheWriteHour, audioInput, audioOutput, webSearch, fees, images, tiers } = pricing;
  const copiedTiers = tiers.map((tier) => ({
    aboveInputTokens: tier.aboveInputTokens,
    input: tier.input,
    output: tier.output,
    cachedInput: tier.cachedInput,
    cacheWrite: tier.cacheWrite,
    cacheWriteHour: tier.cacheWriteHour,
  }));
  return { unit, cachedInput, cacheWrite, cacheWriteHour, audioInput, audioOutput, webSearch, fees, images, tiers: copiedTiers };
}
