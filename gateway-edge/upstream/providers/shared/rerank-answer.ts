import type { ReportedUsage, RerankAnswer } from "../provider.ts";
import { asCount, asFields, malformed } from "./json-fields.ts";
import { NOTHING_REPORTED } from "./media-usage.ts";

/** An answer in the format of Cohere, or of Jina and compatible servers. */
export function readRerankAnswer(body: unknown): RerankAnswer {
  const answer = asFields(body);
  const rows = answer["results"] ?? answer["data"];
  if (!Array.isArray(rows)) throw malformed("a ranking without results");
  const results = rows.map(asFields).map((row) => {
    const { index, relevance_score: relevance, score = relevance } = row;
    if (typeof index !== "number" || typeof score !== "number") throw malformed("a result without index or score");
    return { index, score };
  });
  return { id: typeof answer["id"] === "string" ? answer["id"] : undefined, results, usage: usageOf(answer) };
}

function usageOf(answer: Readonly<Record<string, unknown>>): ReportedUsage | undefined {
  const meta = asFields(answer["meta"]);
  const billed = asFields(meta["billed_units"]);
  const tokens = asFields(meta["tokens"]);
  const usage = asFields(answer["usage"]);
  const searches = asCount(billed["search_units"]);
  const promptTokens =
    asCount(billed["input_tokens"]) ||
    asCount(billed["total_tokens"]) ||
    asCount(tokens["input_tokens"]) ||
    asCount(usage["prompt_tokens"]) ||
    asCount(usage["total_tokens"]);
  if (searches === 0 && promptTokens === 0) return undefined;
  return {
    ...NOTHING_REPORTED,
    promptTokens,
    ...(searches > 0 ? { amounts: { search: { input: searches, output: 0 } } } : {}),
  };
}
