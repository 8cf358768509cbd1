import { createRequire } from "node:module";
import type { ConditionalPrice, ModelInfo, ModelPrice, TieredPrices } from "@pydantic/genai-prices";
import { systemClock } from "../clock.ts";
import { defined } from "../defined.ts";
import type { Price, PriceTier, TokenPrices } from "../pricing.ts";
import { findKind } from "../providers/shared/registry.ts";
import { nanoPerMillionFromMillion, scaleDecimal } from "./decimal.ts";
import { furtherPrice } from "./further-prices.ts";
import { listFees } from "./list-fees.ts";
import { type Capability, familyOf, type Mode } from "./model-families.ts";
import { secondListModels, secondPrice } from "./second-list.ts";

export interface ModelData {
  readonly mode: Mode;
  /** Absent: known to exist, but at no price that is known here. */
  readonly pricing?: Price;
  readonly contextWindow?: number;
  readonly maxOutputTokens?: number;
  readonly capabilities: readonly Capability[];
}

type Package = typeof import("@pydantic/genai-prices");

let loaded: Package | undefined;

/** The package is some 20 MB of memory and 50 ms: it is loaded by the first question, not by the import. Never from the network. */
function prices(): Package {
  loaded ??= createRequire(import.meta.filename)("@pydantic/genai-prices") as Package;
  return loaded;
}

// The built-in model that answers without a provider: 1 USD and 2 USD per million tokens.
const ECHO: ModelData = {
  mode: "chat",
  pricing: { input: 1_000_000_000n, output: 2_000_000_000n },
  contextWindow: 128_000,
  maxOutputTokens: 4096,
  capabilities: ["streaming"],
};

/**
 * What is publicly known of a model under its provider's own name: its list price on that day, its limits, what it can do. Undefined
 * where the data has no such model: then nothing is guessed, least of all a price. Models on the operator's own machines cost nothing.
 */
export function findModelData({
  kind,
  model,
  at = new Date(systemClock.now()),
  lists = 2,
}: {
  kind: string;
  model: string;
  at?: Date;
  /** 1: without the second list. */
  lists?: 1 | 2;
}): ModelData | undefined {
  if (kind === "echo") return ECHO;
  if (model === "" || model.includes("*")) return undefined;
  if (findKind(kind)?.isFree) return freeModel(model);
  const info = findInfo(kind, model);
  const further = furtherPrice(kind, model);
  if (!info && further) return { mode: familyOf(model).mode, pricing: further, capabilities: familyOf(model).capabilities };
  if (!info) return lists === 2 ? fromSecondList(kind, model) : undefined;
  const family = familyOf(model);
  const list = priceList(info, at);
  const pricing =
    listPrices(
      list,
      listFees(kind, model, (name) => (list[name] === undefined ? undefined : baseOf(list[name]))),
    ) ??
    further ??
    (lists === 2 ? secondPrice(kind, model)?.pricing : undefined);
  const tiers = tiersOf(list);
  return {
    mode: family.mode,
    ...(pricing && { pricing: tiers.length > 0 ? { ...pricing, tiers } : pricing }),
    ...(info.context_window !== undefined && { contextWindow: info.context_window }),
    ...(family.maxOutputTokens !== undefined && { maxOutputTokens: family.maxOutputTokens }),
    capabilities: capabilitiesOf(family.capabilities, list),
  };
}

function fromSecondList(kind: string, model: string): ModelData | undefined {
  const found = secondPrice(kind, model);
  if (!found) return undefined;
  const fees = (found.pricing.unit ?? "token") === "token" ? listFees(kind, model, () => undefined) : {};
  const pricing = { ...fees, ...found.pricing };
  return { ...found, pricing, capabilities: familyOf(model).capabilities };
}

/** How much such a model may write is what its operator configured it for, so no limit of its family holds. */
function freeModel(model: string): ModelData {
  const { mode, capabilities } = familyOf(model);
  return { mode, pricing: { input: 0n, output: 0n }, capabilities };
}

/** The provider's models that the data knows, for wildcards such as `openai/*`; sorted. */
export function modelsOf(kind: string): readonly string[] {
  if (kind === "echo") return ["echo"];
  const names = priceListsOf(kind).flatMap((id) => prices().findProvider({ providerId: id })?.models ?? []);
  return [...new Set(names.filter(({ deprecated }) => deprecated !== true).map(({ id }) => id))].sort();
}

/** Entries of the data package for several regions at once: no model has such a name. */
const NO_MODEL = /^regional\./;

/** The provider's models in either price list, with and without a price; sorted. */
export function listedModels(kind: string): readonly string[] {
  return [...new Set([...modelsOf(kind), ...secondListModels(kind)])].filter((name) => !NO_MODEL.test(name)).sort();
}

function priceListsOf(kind: string): readonly string[] {
  return findKind(kind)?.priceLists ?? [];
}

function findInfo(kind: string, model: string): ModelInfo | undefined {
  for (const id of priceListsOf(kind)) {
    // A calculation of nothing is the package's public way to find a model by its rules (dated names, Bedrock's regions, Azure's lenders).
    const found = prices().calcPrice({}, model, { providerId: id });
    if (found) return found.model;
  }
  return undefined;
}

/** The list in force on the day. Where the price depends on the hour, the dearest hour: a price here is for all of them. */
function priceList(info: ModelInfo, at: Date): ModelPrice {
  if (!Array.isArray(info.prices)) return info.prices;
  const day = at.toISOString().slice(0, 10);
  let inForce: ModelPrice = {};
  const hourly: ModelPrice[] = [];
  for (const { constraint, prices: list } of info.prices as ConditionalPrice[]) {
    if (constraint?.type === "time_of_date") hourly.push(list);
    else if (constraint === undefined || constraint.start_date <= day) inForce = list;
  }
  return hourly.reduce((dearest, list) => (sumOf(list) > sumOf(dearest) ? list : dearest), inForce);
}

function sumOf(list: ModelPrice): number {
  return baseOf(list["input_mtok"] ?? 0) + baseOf(list["output_mtok"] ?? 0);
}

function baseOf(price: number | TieredPrices): number {
  return typeof price === "number" ? price : price.base;
}

const HOUR_MS = 3_600_000n;

/** By the token where it is sold so, else by the length of the sound that goes in. */
function listPrices(list: ModelPrice, fees: Pick<Price, "webSearch" | "fees">): Price | undefined {
  const tokens = tokenPrices(list, baseOf);
  const hour = list["input_audio_hours"] ?? list["audio_hours"];
  if (tokens) return { ...tokens, ...audioPrices(list), ...fees, ...searchPrice(list) };
  const nanoPerMillionHours = hour === undefined ? undefined : scaleDecimal(baseOf(hour), 15);
  // Rounded up: a fraction of a nano-USD for a million milliseconds is still a price.
  return nanoPerMillionHours === undefined
    ? undefined
    : { unit: "millisecond", input: (nanoPerMillionHours + HOUR_MS - 1n) / HOUR_MS, output: 0n };
}

/** Published for a thousand searches. */
function searchPrice({ web_searches_kcount: price }: ModelPrice): Pick<Price, "webSearch"> {
  return defined({ webSearch: price === undefined ? undefined : scaleDecimal(baseOf(price), 12) });
}

function audioPrices(list: ModelPrice): Pick<Price, "audioInput" | "audioOutput"> {
  const read = (name: string) => (list[name] === undefined ? undefined : nanoPerMillionFromMillion(baseOf(list[name])));
  return defined({ audioInput: read("input_audio_mtok"), audioOutput: read("output_audio_mtok") });
}

function tokenPrices(list: ModelPrice, pick: (price: number | TieredPrices) => number): TokenPrices | undefined {
  const read = (name: string) => (list[name] === undefined ? undefined : nanoPerMillionFromMillion(pick(list[name])));
  const input = read("input_mtok");
  const output = read("output_mtok");
  if (input === undefined && output === undefined) return undefined;
  const cachedInput = read("cache_read_mtok");
  const cacheWrite = read("cache_write_mtok");
  const cacheWriteHour = read("cache_write_1h_mtok");
  return {
    input: input ?? 0n,
    output: output ?? 0n,
    ...(cachedInput !== undefined && { cachedInput }),
    ...(cacheWrite !== undefined && { cacheWrite }),
    ...(cacheWriteHour !== undefined && { cacheWriteHour }),
  };
}

function tiersOf(list: ModelPrice): PriceTier[] {
  const starts = Object.values(list).flatMap((price) => (typeof price === "object" ? price.tiers.map((tier) => tier.start) : []));
  return [...new Set(starts)]
    .sort((left, right) => left - right)
    .flatMap((start) => {
      const pricing = tokenPrices(list, (price) => priceAbove(price, start));
      return pricing ? [{ aboveInputTokens: start, ...pricing }] : [];
    });
}

function priceAbove(price: number | TieredPrices, start: number): number {
  if (typeof price === "number") return price;
  return price.tiers.reduce((found, tier) => (tier.start <= start ? tier.price : found), price.base);
}

/** A price for it means that it can be done. */
function capabilitiesOf(family: readonly Capability[], list: ModelPrice): readonly Capability[] {
  const sold: readonly (readonly [string, Capability])[] = [
    ["cache_read_mtok", "prompt_caching"],
    ["input_audio_mtok", "audio_input"],
    ["output_audio_mtok", "audio_output"],
  ];
  return [...new Set([...family, ...sold.flatMap(([name, capability]) => (list[name] === undefined ? [] : [capability]))])];
}
