import type { Price } from "../pricing.ts";
import { scaleDecimal } from "./decimal.ts";

/**
 * Public list prices that the data package lacks, in USD per unit as the providers publish them (November 2026). The first row
 * that matches counts; prices of the package have priority.
 */
const ROWS: readonly { kinds: readonly string[]; models: RegExp; unit: "token" | "character" | "search"; usd: string }[] = [
  { kinds: ["openai", "azure"], models: /^tts-1-hd/, unit: "character", usd: "0.00003" },
  { kinds: ["openai", "azure"], models: /^tts-1/, unit: "character", usd: "0.000015" },
  { kinds: ["groq"], models: /^playai-tts/, unit: "character", usd: "0.00005" },
  { kinds: ["mistral"], models: /^codestral-embed/, unit: "token", usd: "0.00000015" },
  { kinds: ["together"], models: /^baai\/bge-base-en-v1\.5$/i, unit: "token", usd: "0.000000008" },
  { kinds: ["vertex_ai"], models: /^text-(multilingual-)?embedding-00[245]$/, unit: "token", usd: "0.0000001" },
  { kinds: ["cohere"], models: /^embed-(english|multilingual)-(light-)?v[23]\.0$/, unit: "token", usd: "0.0000001" },
  { kinds: ["cohere"], models: /^rerank-(english-|multilingual-)?v[23]\.[05]$/, unit: "search", usd: "0.002" },
];

const PLACES = 15;

export function furtherPrice(kind: string, model: string): Price | undefined {
  const row = ROWS.find(({ kinds, models }) => kinds.includes(kind) && models.test(model));
  const input = row && scaleDecimal(row.usd, PLACES);
  if (!row || input === undefined) return undefined;
  return { ...(row.unit !== "token" && { unit: row.unit }), input, output: 0n };
}
