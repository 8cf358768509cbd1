import { defined } from "../defined.ts";
import { FEE_NAMES, FEES, type FeePrices } from "../fees.ts";
import { isImagePriceName } from "../image-prices.ts";
import type { Price, PriceUnit } from "../pricing.ts";
import { configuredTiers } from "./configured-tiers.ts";
import { withListFees } from "./list-fees.ts";
import type { ModelData } from "./model-data.ts";
import { scaled } from "./scaled-price.ts";

/** The price of a deployment, and where it comes from. */
export interface ConfiguredPrice extends Price {
  unit: PriceUnit;
  /** `config`: from the file; `data`: from the public price list. */
  source: "config" | "data";
}

type Fields = Readonly<Record<string, unknown>>;

/** LiteLLM's names of prices by unit, and the decimal places from USD per unit to nano-USD per million of our unit. */
const TOKEN_PLACES = 15;
const THOUSAND_PLACES = 12;
const UNITS = [
  { unit: "token", input: "input_cost_per_token", output: "output_cost_per_token", places: TOKEN_PLACES },
  { unit: "character", input: "input_cost_per_character", output: "output_cost_per_character", places: 15 },
  { unit: "millisecond", input: "input_cost_per_second", output: "output_cost_per_second", places: 12 },
  { unit: "image", input: "input_cost_per_image", output: "output_cost_per_image", places: 15 },
  { unit: "search", input: "input_cost_per_query", output: "output_cost_per_query", places: 15 },
] as const;

/**
 * The operator's price for a deployment, else the public list price, else none. litellm_params win over model_info, as in LiteLLM. All
 * prices of tokens come from one source: a list price of cached tokens must not be mixed with an operator's input price. Fees of the provider's
 * tools that the operator does not set are those of the list. If several units have a
 * price, the first above zero counts, because LiteLLM's list has a token price of zero beside the price of a search.
 */
export function configuredPrice(
  params: Fields,
  info: Fields,
  { kind, data }: { kind?: string; data?: ModelData | undefined },
): ConfiguredPrice | undefined {
  const given = { ...info, ...params };
  const priced = UNITS.flatMap(({ unit, input, output, places }): Omit<ConfiguredPrice, "source">[] => {
    const [inputPrice, outputPrice] = [scaled(given[input], places), scaled(given[output], places)];
    const isPriced = inputPrice !== undefined || outputPrice !== undefined || (unit === "image" && given[IMAGES_SETTING] !== undefined);
    if (!isPriced) return [];
    if (unit === "token") return [{ unit, ...tokenPrices(given, { input: inputPrice ?? 0n, output: outputPrice ?? 0n }) }];
    if (unit === "image") return [{ unit, ...imagePrices(given, { input: inputPrice, output: outputPrice }) }];
    return [{ unit, input: inputPrice ?? 0n, output: outputPrice ?? 0n }];
  });
  const found = priced.find(({ input, output }) => input + output > 0n) ?? priced[0];
  if (found) return { ...(kind === undefined ? found : withListFees(found, kind)), source: "config" };
  return data && listPrice(data, given);
}

/** The setting for prices by size or quality, such as `{"1024x1792": 0.08, "hd/1024x1792": 0.12}`. */
export const IMAGES_SETTING = "output_cost_per_image_by_size";

/** LiteLLM has the price of a generated image as input or output; here it is output. Without one, the highest of those by size counts. */
function imagePrices(given: Fields, { input, output }: { input: bigint | undefined; output: bigint | undefined }) {
  const sizes = Object.entries(asRecord(given[IMAGES_SETTING])).flatMap(([name, usd]): [string, bigint][] => {
    const price = scaled(usd, TOKEN_PLACES);
    return price !== undefined && isImagePriceName(name) ? [[name, price]] : [];
  });
  const base = output ?? input ?? sizes.reduce((most, [, price]) => (price > most ? price : most), 0n);
  const images = sizes.length > 0 ? { images: Object.fromEntries(sizes) } : {};
  return { input: output === undefined ? 0n : (input ?? 0n), output: base, ...images };
}

/** What is wrong with the prices by size; undefined: nothing. */
export function imagesProblem(given: unknown): string | undefined {
  if (typeof given !== "object" || given === null || Array.isArray(given)) return "must be a map of sizes to prices in USD";
  const wrong = Object.entries(given).find(([name, usd]) => !isImagePriceName(name) || scaled(usd, TOKEN_PLACES) === undefined);
  return (
    wrong &&
    `${wrong[0]}: ${wrong[1]}: expected a size such as 1024x1792, or a quality and a size such as hd/1024x1792, with a price in USD`
  );
}

function asRecord(given: unknown): Fields {
  return typeof given === "object" && given !== null ? (given as Fields) : {};
}

/** The list price, with the fees that the operator set. */
function listPrice({ pricing }: ModelData, given: Fields): ConfiguredPrice | undefined {
  if (!pricing) return undefined;
  const unit = pricing.unit ?? "token";
  const set = unit === "token" ? feesOf(given) : {};
  const fees = pricing.fees || set.fees ? { fees: { ...pricing.fees, ...set.fees } } : {};
  return { ...pricing, ...set, ...fees, unit, source: "data" };
}

function feesOf(given: Fields): Pick<Price, "webSearch" | "fees"> {
  const webSearch = searchPrice(given["search_context_cost_per_query"]);
  const fees = configuredFees(given);
  return { ...(webSearch !== undefined && { webSearch }), ...(fees && { fees }) };
}

function tokenPrices(given: Fields, prices: { input: bigint; output: bigint }) {
  const priceOf = (name: string) => scaled(given[name], TOKEN_PLACES);
  const classes = defined({
    cachedInput: priceOf("cache_read_input_token_cost") ?? priceOf("input_cost_per_token_cache_hit"),
    cacheWrite: priceOf("cache_creation_input_token_cost"),
    audioInput: priceOf("input_cost_per_audio_token"),
    audioOutput: priceOf("output_cost_per_audio_token"),
    cacheWriteHour: priceOf("cache_creation_input_token_cost_above_1hr"),
  });
  const tiers = configuredTiers(given, { ...prices, ...classes });
  return { ...prices, ...classes, ...feesOf(given), ...(tiers.length > 0 && { tiers }) };
}

/** What else a provider bills beside the tokens; prices by the size of a search context are in LiteLLM's object of them. */
function configuredFees(given: Fields): FeePrices | undefined {
  const sizes = given["search_context_cost_per_query"];
  const all = { ...given, ...(typeof sizes === "object" ? sizes : {}) };
  // LiteLLM prices both search tools of OpenAI by one setting.
  const preview = searchPrice(sizes);
  const fees = FEE_NAMES.flatMap((name) => {
    const { setting, per } = FEES[name];
    const price =
      scaled(all[setting], per === 1000 ? THOUSAND_PLACES : TOKEN_PLACES) ?? (name === "webSearchPreview" ? preview : undefined);
    return price === undefined ? [] : [[name, price]];
  });
  return fees.length > 0 ? Object.fromEntries(fees) : undefined;
}

/** One price, or LiteLLM's prices by the size of the search's context: the highest of them, because answers do not tell the size. */
function searchPrice(given: unknown): bigint | undefined {
  const sizes = typeof given === "object" && given !== null ? Object.values(given) : [given];
  const prices = sizes.flatMap((size) => scaled(size, TOKEN_PLACES) ?? []);
  return prices.length === 0 ? undefined : prices.reduce((most, price) => (price > most ? price : most));
}

/** Whether a key of litellm_params or model_info is a price in USD. */
export function isPriceName(name: string): boolean {
  return /(^|_)cost(_|$)/.test(name);
}
