/** A charge of a provider beside the tokens of text. */
export interface Fee {
  /** What one unit is, as people read it. */
  readonly what: string;
  /** The setting of model_info or litellm_params that prices it, in USD for so many of them. */
  readonly setting: string;
  readonly per: 1 | 1000;
}

/**
 * What providers bill beside the tokens of text: the one declaration for prices, the configuration file, the API and bills. A call's usage
 * counts each in `amounts` under its name; the two of images are prices of tokens, counted as `imageToken` among the other tokens. Web
 * searches are older than this table: their price is `webSearch`, their amount `search`.
 */
export const FEES = {
  webSearchPreview: { what: "web searches of the preview tool", setting: "web_search_preview_cost_per_call", per: 1 },
  fileSearch: { what: "file searches", setting: "file_search_cost_per_1k_calls", per: 1000 },
  codeSession: { what: "code execution sessions", setting: "code_interpreter_cost_per_session", per: 1 },
  generatedImage: { what: "images that the image tool makes", setting: "image_generation_cost_per_image", per: 1 },
  guardrailUnit: { what: "text units of the provider's guardrail", setting: "guardrail_cost_per_text_unit", per: 1 },
  requestLow: { what: "requests with a small search context", setting: "search_context_size_low", per: 1 },
  requestMedium: { what: "requests with a medium search context", setting: "search_context_size_medium", per: 1 },
  requestHigh: { what: "requests with a large search context", setting: "search_context_size_high", per: 1 },
  imageInput: { what: "image tokens of the input", setting: "input_cost_per_image_token", per: 1 },
  imageOutput: { what: "image tokens of the output", setting: "output_cost_per_image_token", per: 1 },
} as const satisfies Readonly<Record<string, Fee>>;

export type FeeName = keyof typeof FEES;
/** Fees by the piece: all but those of tokens. */
export type CountedFee = Exclude<FeeName, "imageInput" | "imageOutput">;

export const FEE_NAMES = Object.keys(FEES) as readonly FeeName[];
export const COUNTED_FEES = FEE_NAMES.filter((name): name is CountedFee => name !== "imageInput" && name !== "imageOutput");

/** Nano-USD per 1,000,000 of each. Absent: it has no price; image tokens then cost what other tokens cost. */
export type FeePrices = { readonly [Name in FeeName]?: bigint | undefined };

/** The names in `amounts` of what is counted beside tokens of text. */
export type FeeAmount = "search" | CountedFee;
/** Counts of fees, such as the most that a request can cause. */
export type FeeCounts = { readonly [Name in FeeAmount]?: number | undefined };

interface Counted {
  readonly input: number;
  readonly output: number;
}

/** The part of a call's amounts that is billed beside its tokens. */
export type BesideTokens = { readonly [Name in FeeAmount | "imageToken"]?: Counted | undefined };

interface Rates {
  readonly input: bigint;
  readonly output: bigint;
  readonly webSearch?: bigint | undefined;
  readonly fees?: FeePrices | undefined;
}

/** The cost of what is billed beside tokens, in nano-USD × 1,000,000. Image tokens are among the tokens: only the difference is added. */
export function unroundedFeeCost(amounts: BesideTokens, rates: Rates): bigint {
  let sum = product(amounts.search?.input, rates.webSearch);
  const { fees } = rates;
  if (!fees) return sum;
  for (const name of COUNTED_FEES) sum += product(amounts[name]?.input, fees[name]);
  const { imageToken } = amounts;
  if (!imageToken) return sum;
  sum += product(imageToken.input, (fees.imageInput ?? rates.input) - rates.input);
  return sum + product(imageToken.output, (fees.imageOutput ?? rates.output) - rates.output);
}

function product(count = 0, rate = 0n): bigint {
  return count === 0 ? 0n : BigInt(count) * rate;
}

/** The price of what is counted under this name; undefined: it has none. */
export function feePrice(name: FeeAmount, { webSearch, fees }: Pick<Rates, "webSearch" | "fees">): bigint | undefined {
  return name === "search" ? webSearch : fees?.[name];
}
