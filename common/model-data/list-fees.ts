import { defined } from "../defined.ts";
import type { FeePrices } from "../fees.ts";
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
  { kinds: ["openai"], models: /^(ft:)?(gpt-4|chatgpt-)/, fees: { webSearchPreview: price(PREVIEW_SEARCH_USD) } },
  { kinds: ["openai"], models: /^(gpt-[5-9]|o\d|codex)/, fees: { webSearchPreview: price(PREVIEW_SEARCH_REASONING_USD) } },
  { kinds: ["anthropic"], models: /^claude/, fees: { codeSession: price(CODE_RUN_USD) } },
  { kinds: ["perplexity"], models: /^sonar(-reasoning)?$/, fees: sonar("0.005", "0.008", "0.012") },
  { kinds: ["perplexity"], models: /^sonar-(reasoning-)?pro$/, fees: sonar("0.006", "0.01", "0.014") },
];

type Listed = (name: string) => number | undefined;

/** Models of these are called in ways that have no tools. */
const OTHER_USES = /audio|realtime|transcribe|tts|image|instruct|embedding|moderation/;

/** The list prices beside the tokens of a model: those of the data package, in USD per million tokens, and the rows above. */
export function listFees(kind: string, model: string, listed: Listed): { readonly fees?: FeePrices } {
  const rows = OTHER_USES.test(model) ? [] : ROWS;
  const own = rows.filter(({ kinds, models }) => kinds.includes(kind) && models.test(model)).map(({ fees }) => fees);
  const perMillion = (name: string) => {
    const usd = listed(name);
    return usd === undefined ? undefined : scaleDecimal(usd, 9);
  };
  const images = defined({ imageInput: perMillion("input_image_mtok"), imageOutput: perMillion("output_image_mtok") });
  const fees: FeePrices = Object.assign({}, ...own, images);
  return Object.keys(fees).length > 0 ? { fees } : {};
}
