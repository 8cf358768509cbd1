import { defined } from "../defined.ts";
import type { FeeName, FeePrices } from "../fees.ts";
import type { Price } from "../pricing.ts";
import { scaleDecimal } from "./decimal.ts";

/** USD for each, as the providers publish them (November 2026). */
const CONTAINER_USD = "0.03";
/** Anthropic bills 0.05 USD an hour, and five minutes at least. */
const CODE_RUN_USD = "0.004166666666667";
const PREVIEW_SEARCH_USD = "0.025";
const PREVIEW_SEARCH_REASONING_USD = "0.01";
const FILE_SEARCH_USD = "0.0025";

const price = (usd: string): bigint => scaleDecimal(usd, 15) ?? 0n;

interface FeeRow {
  readonly kinds: readonly string[];
  readonly models: RegExp;
  readonly fees: FeePrices;
}

const sonar = (low: string, medium: string, high: string): FeePrices => ({
  requestLow: price(low),
  requestMedium: price(medium),
  requestHigh: price(high),
});

const HOSTED_TOOLS: FeePrices = { fileSearch: price(FILE_SEARCH_USD), codeSession: price(CONTAINER_USD) };

/** List prices beside tokens that the data package lacks; every row that matches counts. */
const ROWS: readonly FeeRow[] = [
  { kinds: ["openai", "azure"], models: /^(ft:)?(gpt-|o\d|codex|chatgpt-)/, fees: HOSTED_TOOLS },
  { kinds: ["openai", "azure"], models: /^(ft:)?(gpt-4|chatgpt-)/, fees: { webSearchPreview: price(PREVIEW_SEARCH_USD) } },
  { kinds: ["openai", "azure"], models: /^(ft:)?(gpt-[5-9]|o\d|codex)/, fees: { webSearchPreview: price(PREVIEW_SEARCH_REASONING_USD) } },
  { kinds: ["anthropic"], models: /^claude/, fees: { codeSession: price(CODE_RUN_USD) } },
  { kinds: ["perplexity"], models: /^sonar(-reasoning)?$/, fees: sonar("0.005", "0.008", "0.012") },
  { kinds: ["perplexity"], models: /^sonar-(reasoning-)?pro$/, fees: sonar("0.006", "0.01", "0.014") },
];

/** USD for a web search, or for a source that it used, whatever the model. */
const SEARCH_USD: Readonly<Record<string, string>> = { openai: "0.01", azure: "0.01", anthropic: "0.01", xai: "0.025" };

interface FeeRates {
  readonly webSearch?: bigint;
  readonly fees?: FeePrices;
}

/** What a kind bills beside tokens whatever the model: the highest of its list prices. */
function kindFees(kind: string): FeeRates {
  const rows = ROWS.filter(({ kinds }) => kinds.includes(kind)).map(({ fees }) => fees);
  const names = new Set(rows.flatMap((fees) => Object.keys(fees) as FeeName[]));
  const fees = Object.fromEntries(
    [...names].map((name) => [name, rows.map((row) => row[name] ?? 0n).reduce((most, each) => (each > most ? each : most))]),
  );
  const search = SEARCH_USD[kind];
  return { ...(search !== undefined && { webSearch: price(search) }), ...(names.size > 0 && { fees }) };
}

/**
 * A price with the list's fees where it has none of its own, so that the tools of a provider are billed, and not refused, where an operator
 * priced the tokens alone. Prices by other units have no fees.
 */
export function withListFees<Given extends Pick<Price, "unit" | "webSearch" | "fees">>(given: Given, kind: string): Given {
  if ((given.unit ?? "token") !== "token") return given;
  const listed = kindFees(kind);
  const fees = listed.fees || given.fees ? { fees: { ...listed.fees, ...defined(given.fees ?? {}) } } : {};
  const webSearch = given.webSearch ?? listed.webSearch;
  return { ...given, ...(webSearch !== undefined && { webSearch }), ...fees };
}

type Listed = (name: string) => number | undefined;

/** Models of these are called in ways that have no tools. */
const OTHER_USES = /audio|realtime|transcribe|tts|image|instruct|embedding|moderation/;

/** The list prices beside the tokens of a model: those of the data package, in USD per million tokens, and the rows above. */
export function listFees(kind: string, model: string, listed: Listed): FeeRates {
  const search = OTHER_USES.test(model) ? undefined : SEARCH_USD[kind];
  const rows = OTHER_USES.test(model) ? [] : ROWS;
  const own = rows.filter(({ kinds, models }) => kinds.includes(kind) && models.test(model)).map(({ fees }) => fees);
  const perMillion = (name: string) => {
    const usd = listed(name);
    return usd === undefined ? undefined : scaleDecimal(usd, 9);
  };
  const images = defined({ imageInput: perMillion("input_image_mtok"), imageOutput: perMillion("output_image_mtok") });
  const fees: FeePrices = Object.assign({}, ...own, images);
  return { ...(search !== undefined && { webSearch: price(search) }), ...(Object.keys(fees).length > 0 && { fees }) };
}
