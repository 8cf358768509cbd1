import type { Model } from "../../api/types.ts";
import { formatUsd, usdOf } from "../../format/money.ts";

const MILLION = 1_000_000;
/** Prices are kept per million units. Sound and pictures are bought by the minute and the piece, so that is how they are shown. */
const UNITS: Readonly<Record<string, { words: string; units: number }>> = {
  token: { words: "1M tokens", units: MILLION },
  character: { words: "1M characters", units: MILLION },
  millisecond: { words: "minute", units: 60_000 },
  image: { words: "image", units: 1 },
  search: { words: "1,000 searches", units: 1_000 },
  call: { words: "1,000 calls", units: 1_000 },
};

export interface PriceLine {
  readonly name: string;
  readonly usd: string;
  readonly per: string;
}

/** What a model costs, as a person would ask for it; empty when it is free or has no price. */
export function priceLines({ pricing }: Model): PriceLine[] {
  if (!pricing) return [];
  const { words, units } = UNITS[pricing.unit] ?? { words: `1M ${pricing.unit}s`, units: MILLION };
  const line = (name: string, nanoPerMillion: number | null) =>
    nanoPerMillion === null || nanoPerMillion === 0 ? [] : [{ name, usd: usdOf((nanoPerMillion * units) / MILLION), per: words }];
  return [
    ...line("Input", pricing.input),
    ...line("Cached input", pricing.cachedInput),
    ...line("Cache write", pricing.cacheWrite),
    ...line("Output", pricing.output),
    ...line("Audio in", pricing.audioInput),
    ...line("Audio out", pricing.audioOutput),
  ];
}

export function priceWords(model: Model, which: "input" | "output"): string {
  const { pricing } = model;
  if (!pricing) return "no price";
  const own = priceLines(model).find(({ name }) => name.toLowerCase() === which);
  if (!own) return priceLines(model).length === 0 ? "free" : "–";
  return pricing.unit === "token" ? formatUsd(own.usd) : `${formatUsd(own.usd)} / ${own.per}`;
}
