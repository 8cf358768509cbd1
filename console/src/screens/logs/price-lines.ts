import type { SignedReceipt, UsageLog } from "../../api/types.ts";

export interface PriceLine {
  readonly title: string;
  readonly amount: number;
  readonly unit: string;
  /** Nano-USD per million units; undefined if the receipt has no price. */
  readonly price: number | undefined;
  /** Exact, in USD; undefined without a price. */
  readonly costUsd: string | undefined;
}

const CLASSES = ["input", "cachedInput", "cacheWrite", "output", "reasoning", "audio"] as const;

/** The bill line by line, as the API computes it; without a receipt, or without its prices, the amounts alone. */
export function priceLines({ usage }: Pick<UsageLog, "usage">, signed: Pick<SignedReceipt, "lines"> | undefined): readonly PriceLine[] {
  if (signed && signed.lines.length > 0) {
    return signed.lines.map(({ title, amount, price, costUsd }) => ({
      title: capital(title),
      amount,
      unit: "",
      price,
      costUsd: `$${costUsd}`,
    }));
  }
  const unpriced = { price: undefined, costUsd: undefined };
  const tokens = CLASSES.map((name) => ({ title: capital(name), amount: usage[name], unit: "token", ...unpriced }));
  const others = Object.entries(usage.amounts ?? {}).map(([unit, { input, output }]) => ({
    title: capital(unit),
    amount: input + output,
    unit,
    ...unpriced,
  }));
  return [...tokens, ...others].filter(({ amount }) => amount > 0);
}

/** Names of fields as words: `cachedInput` is "Cached input". */
function capital(name: string): string {
  const words = name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
  return words.charAt(0).toUpperCase() + words.slice(1);
}
