import type { SignedReceipt, UsageLog } from "../../api/types.ts";
import { nanoOf } from "../../format/money.ts";

export interface PriceLine {
  readonly title: string;
  readonly amount: number;
  readonly unit: string;
  /** Nano-USD per million units; undefined if the receipt has no price. */
  readonly price: number | undefined;
}

export interface PricedCall {
  readonly lines: readonly PriceLine[];
  /** Exact costs in USD per line; undefined if they do not add up to the charge, as with a price tier or a cached response. */
  readonly costs: readonly string[] | undefined;
}

type Prices = NonNullable<SignedReceipt["receipt"]["prices"]>;
type TokenUsage = UsageLog["usage"];

const CLASSES: readonly (readonly [title: string, (usage: TokenUsage) => number, (prices: Prices) => number])[] = [
  ["Input", ({ input }) => input, ({ input }) => input],
  ["Cached input", ({ cachedInput }) => cachedInput, ({ input, cachedInput }) => cachedInput ?? input],
  ["Cache write", ({ cacheWrite, cacheWriteHour = 0 }) => cacheWrite - cacheWriteHour, ({ input, cacheWrite }) => cacheWrite ?? input],
  [
    "Cache write, 1 hour",
    ({ cacheWriteHour = 0 }) => cacheWriteHour,
    ({ input, cacheWrite, cacheWriteHour }) => cacheWriteHour ?? cacheWrite ?? input,
  ],
  ["Output", ({ output }) => output, ({ output }) => output],
  ["Reasoning", ({ reasoning }) => reasoning, ({ output }) => output],
];

const MILLION = 1_000_000n;

/** Usage and cost per line, computed like the bill: lines are exact, and the sum is rounded up once. */
export function priceCall(
  { usage, costUsd }: Pick<UsageLog, "usage" | "costUsd">,
  prices: SignedReceipt["receipt"]["prices"] | undefined,
): PricedCall {
  const inTokens = prices?.unit === "token" ? prices : undefined;
  const lines: PriceLine[] = CLASSES.flatMap(([title, amountOf, priceOf]) => {
    const amount = amountOf(usage);
    return amount === 0 ? [] : [{ title, amount, unit: "token", price: inTokens && priceOf(inTokens) }];
  });
  if (usage.audio > 0) lines.push({ title: "Audio", amount: usage.audio, unit: "token", price: undefined });
  for (const [unit, { input, output }] of Object.entries(usage.amounts ?? {})) {
    const own = prices?.unit === unit ? prices : undefined;
    if (inTokens && unit === "search") {
      lines.push({ title: "Web search", amount: input, unit, price: inTokens.webSearch });
      continue;
    }
    if (input > 0) lines.push({ title: "Input", amount: input, unit, price: own?.input });
    if (output > 0) lines.push({ title: "Output", amount: output, unit, price: own?.output });
  }
  const exact = lines.map(({ amount, price }) => BigInt(amount) * BigInt(price ?? 0));
  const charged = (exact.reduce((sum, cost) => sum + cost, 0n) + MILLION - 1n) / MILLION;
  return { lines, costs: charged === nanoOf(costUsd) && charged > 0n ? exact.map(exactUsd) : undefined };
}

const DIGITS = 15;

/** Nano-USD × 1,000,000 as USD. */
function exactUsd(unrounded: bigint): string {
  const digits = unrounded.toString().padStart(DIGITS + 1, "0");
  const fraction = digits.slice(-DIGITS).replace(/0+$/, "");
  return `$${digits.slice(0, -DIGITS)}${fraction === "" ? ".00" : `.${fraction}`}`;
}
