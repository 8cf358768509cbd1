import { COUNTED_FEES } from "../common/fees.ts";
import { configuredPrice } from "../common/model-data/configured-price.ts";
import { listFees } from "../common/model-data/list-fees.ts";

type Fields = Readonly<Record<string, unknown>>;

/** Figures in which the price list is known to differ from what the providers publish. */
const KNOWN: readonly string[] = [
  // OpenAI bills the preview tool of these models the same for every size of the context; the list has the older prices by size.
  "openai/gpt-4o-mini-2024-07-18 webSearchPreview",
  "openai/gpt-4o-mini-search-preview webSearchPreview",
  "openai/gpt-4o-search-preview webSearchPreview",
  // The list has the figure of the pro model.
  "perplexity/sonar-reasoning requestHigh",
];

/** Where the hand-written table of list fees differs from the price list's own figure of the same fee; empty: nowhere. */
export function feeDifferences(kind: string, model: string, entry: Fields): string[] {
  const theirs = configuredPrice(entry, {}, {})?.fees;
  const ours = listFees(kind, model, () => undefined).fees;
  return COUNTED_FEES.flatMap((name) => {
    const [listed, table] = [theirs?.[name], ours?.[name]];
    const what = `${kind}/${model} ${name}`;
    if (listed === undefined || table === undefined || listed === table || KNOWN.includes(what)) return [];
    return [`${what}: common/model-data/list-fees.ts has ${usd(table)} USD, the price list ${usd(listed)} USD`];
  });
}

/** Prices are nano-USD for 1,000,000. */
const usd = (price: bigint): number => Number(price) / 1e15;
