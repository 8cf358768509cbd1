import type { ListedModel } from "../../api/types.ts";
import { formatUsd, usdOf } from "../../format/money.ts";

const MILLION = 1_000_000;
/** Prices are stored per million units and shown in the usual unit: audio per minute, images per image. */
const UNITS: Readonly<Record<string, { words: string; units: number }>> = {
  token: { words: "1M tokens", units: MILLION },
  character: { words: "1M characters", units: MILLION },
  millisecond: { words: "minute", units: 60_000 },
  image: { words: "image", units: 1 },
  search: { words: "1,000 searches", units: 1_000 },
  call: { words: "1,000 calls", units: 1_000 },
};

export interface ModelPriceLine {
  readonly name: string;
  readonly usd: string;
  readonly per: string;
}

type Priced = Pick<ListedModel, "pricing">;

/** Price lines of a model; empty if it is free or has no price. */
export function priceLines({ pricing }: Priced): ModelPriceLine[] {
  if (!pricing) return [];
  const { words, units } = UNITS[pricing.unit] ?? { words: `1M ${pricing.unit}s`, units: MILLION };
  const line = (name: string, nanoPerMillion: number | null, by = { words, units }) =>
    nanoPerMillion === null || nanoPerMillion === 0 ? [] : [{ name, usd: usdOf((nanoPerMillion * by.units) / MILLION), per: by.words }];
  return [
    ...line("Input", pricing.input),
    ...line("Cached input", pricing.cachedInput),
    ...line("Cache write", pricing.cacheWrite),
    ...line("Cache write, 1 hour", pricing.cacheWriteHour),
    ...line("Output", pricing.output),
    ...Object.entries(pricing.images ?? {}).flatMap(([name, price]) => line(`Output, ${name}`, price)),
    ...line("Audio in", pricing.audioInput),
    ...line("Audio out", pricing.audioOutput),
    ...line("Web search", pricing.webSearch, UNITS["search"]),
    ...Object.entries(pricing.fees ?? {}).flatMap(([name, price]) => line(...feeLine(name, price))),
  ];
}

type Line = readonly [name: string, price: number, by: { words: string; units: number }];

/** Image tokens are priced by the million, all else that is billed beside tokens by the thousand. */
function feeLine(name: string, price: number): Line {
  const words = name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
  const title = words.charAt(0).toUpperCase() + words.slice(1);
  return [title, price, name.startsWith("image") ? { words: "1M tokens", units: MILLION } : { words: "1,000", units: 1_000 }];
}

export function priceText(model: Priced, which: "input" | "output"): string {
  const { pricing } = model;
  if (!pricing) return "no price";
  const own = priceLines(model).find(({ name }) => name.toLowerCase() === which);
  if (!own) return priceLines(model).length === 0 ? "free" : "–";
  return pricing.unit === "token" ? formatUsd(own.usd) : `${formatUsd(own.usd)} / ${own.per}`;
}
