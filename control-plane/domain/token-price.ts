import { unroundedFeeCost } from "../../common/fees.ts";
import { type Price, ratesAt, roundedUp, type TokenClasses, unroundedTokenCost } from "../../common/pricing.ts";
import type { UsageRow } from "./records.ts";

/** What the call costs at a price, by the function that edges bill with; undefined where the row does not hold what is paid for. */
export function costAt(row: Pick<UsageRow, "usage">, price: Price): bigint | undefined {
  const { unit = "token" } = price;
  if (unit !== "token") {
    const amount = row.usage.amounts?.[unit];
    const { input, output } = ratesOf(row, price);
    return amount && roundedUp(BigInt(amount.input) * input + BigInt(amount.output) * output);
  }
  const tokens = tokensOf(row);
  if (!tokens) return undefined;
  const rates = ratesOf(row, price);
  return roundedUp(unroundedTokenCost(tokens, rates) + unroundedFeeCost(row.usage.amounts ?? {}, rates));
}

/** The prices of the tier, or of the size of images, that apply to this call. */
export function ratesOf({ usage }: Pick<UsageRow, "usage">, price: Price): Price {
  const audioInput = usage.audioOutput === undefined ? 0 : usage.audio - usage.audioOutput;
  const inputTokens = usage.input + usage.cachedInput + usage.cacheWrite + audioInput;
  return ratesAt(price, price, { inputTokens, image: usage.image });
}

/** The tokens of a call by class; undefined if the row does not separate audio input from audio output. */
function tokensOf({ usage }: Pick<UsageRow, "usage">): TokenClasses | undefined {
  const { input, cachedInput, cacheWrite, cacheWriteHour, output, reasoning, audio, audioOutput = 0 } = usage;
  if (audio > 0 && usage.audioOutput === undefined) return undefined;
  return { input, cachedInput, cacheWrite, cacheWriteHour, output, reasoning, audioInput: audio - audioOutput, audioOutput };
}
