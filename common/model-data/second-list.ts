import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Price, PriceTier } from "../pricing.ts";
import type { Mode } from "./model-families.ts";

/** A model of the list: its price with integers as text, and its limits. */
export interface ListedEntry {
  readonly mode: Mode;
  readonly price: Readonly<Record<string, unknown>>;
  readonly context?: number;
  readonly output?: number;
}

/** The file that `make prices` writes: models that the data package has no price for. */
export interface PriceList {
  readonly source: string;
  readonly license: string;
  /** When the figures were read. */
  readonly date: string;
  readonly kinds: Readonly<Record<string, Readonly<Record<string, ListedEntry>>>>;
}

export interface SecondPrice {
  readonly mode: Mode;
  readonly pricing: Price;
  readonly contextWindow?: number;
  readonly maxOutputTokens?: number;
}

let loaded: PriceList | undefined;

/** Read by the first question that needs it. */
function list(): PriceList {
  loaded ??= JSON.parse(readFileSync(join(import.meta.dirname, "second-list.json"), "utf8")) as PriceList;
  return loaded;
}

/** The model's entry in LiteLLM's public price list, for models that the data package lacks. */
export function secondPrice(kind: string, model: string): SecondPrice | undefined {
  const models = list().kinds[kind];
  const entry = models && Object.hasOwn(models, model) ? models[model] : undefined;
  if (!entry) return undefined;
  const { mode, price, context, output } = entry;
  return {
    mode,
    pricing: priceOf(price),
    ...(context !== undefined && { contextWindow: context }),
    ...(output !== undefined && { maxOutputTokens: output }),
  };
}

/** The models of a kind in that list. */
export function secondListModels(kind: string): readonly string[] {
  return Object.keys(list().kinds[kind] ?? {});
}

/** Every figure is an integer as text; only the unit is a word, and tiers, fees and images hold figures of their own. */
function priceOf({ unit, tiers, fees, images, ...figures }: ListedEntry["price"]): Price {
  const whole = {
    ...numbersOf(figures),
    ...(unit !== "token" && { unit }),
    ...(fees !== undefined && { fees: numbersOf(fees as Figures) }),
    ...(images !== undefined && { images: numbersOf(images as Figures) }),
    ...(tiers !== undefined && { tiers: (tiers as readonly Figures[]).map(tierOf) }),
  };
  return whole as unknown as Price;
}

type Figures = Readonly<Record<string, unknown>>;

function tierOf({ aboveInputTokens, ...figures }: Figures): PriceTier {
  return { aboveInputTokens, ...numbersOf(figures) } as unknown as PriceTier;
}

function numbersOf(figures: Figures): Readonly<Record<string, bigint>> {
  return Object.fromEntries(Object.entries(figures).map(([name, figure]) => [name, BigInt(String(figure))]));
}
