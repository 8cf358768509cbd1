import type { EmbeddingsAnswer } from "../provider.ts";
import { asCount, asFields, asList, malformed } from "../shared/json-fields.ts";

/** Embeddings in the order of the input. */
export function readOpenAiEmbeddings(body: unknown): EmbeddingsAnswer {
  const answer = asFields(body);
  const rows = asList(answer["data"]).map(asFields);
  if (rows.length === 0) throw malformed("an answer without vectors");
  const ordered = rows.every((row) => typeof row["index"] === "number")
    ? rows.toSorted((left, right) => (left["index"] as number) - (right["index"] as number))
    : rows;
  const usage = asFields(answer["usage"]);
  const promptTokens = asCount(usage["prompt_tokens"]) || asCount(usage["total_tokens"]);
  const reported = { promptTokens, cachedTokens: 0, cacheWriteTokens: 0, completionTokens: 0, reasoningTokens: 0 };
  return { vectors: ordered.map(({ embedding }) => readVector(embedding)), usage: promptTokens > 0 ? reported : undefined };
}

function readVector(value: unknown): readonly number[] {
  if (Array.isArray(value) && value.every((each) => typeof each === "number")) return value;
  if (typeof value !== "string") throw malformed("a vector that is not a list of numbers");
  const bytes = Buffer.from(value, "base64");
  return Array.from({ length: Math.floor(bytes.length / 4) }, (_, index) => bytes.readFloatLE(index * 4));
}
