import type { AppError } from "../../../common/errors.ts";
import { pricedImage } from "../../../common/image-prices.ts";
import { type NanoUsd, nanoUsd } from "../../../common/money.ts";
import type { PriceMessage } from "../../../common/pricing.ts";
import { cost } from "../../credit/pricing/price.ts";
import { pricesAt } from "../../credit/pricing/price-tier.ts";
import { inputTokens, type Usage } from "../../credit/pricing/usage.ts";

/** How a call ended. */
export type Outcome =
  /** `isCutShort`: the gateway ended the stream because the credits were used up. */
  | { readonly status: "success"; readonly isCutShort?: boolean }
  | { readonly status: "cancelled" }
  | { readonly status: "error"; readonly error: AppError; readonly httpStatus: number };

/** What a call used and what that costs. */
export interface Bill {
  readonly usage: Usage;
  readonly cost: NanoUsd;
}

/** Without prices a call costs nothing. The tier of a price goes by the input of one of the `reads` requests of the call. */
export function billOf(used: Usage, prices: PriceMessage | undefined, reads: number): Bill {
  // The row names the size and quality that were billed, also where the request named none.
  const image = (prices?.images && pricedImage(prices.images.prices, used.image)) ?? used.image;
  const usage = image === used.image ? used : { ...used, image };
  return { usage, cost: prices ? cost(usage, pricesAt(prices, { inputTokens: inputTokens(usage) / reads, image })) : nanoUsd(0n) };
}
