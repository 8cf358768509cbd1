import type { EmbeddingsCall } from "../provider.ts";
import { asText } from "../shared/json-fields.ts";

/** Cohere's words for what a vector is for, which callers of many providers use, in Google's. */
const TASK_TYPES: Readonly<Record<string, string>> = {
  search_document: "RETRIEVAL_DOCUMENT",
  search_query: "RETRIEVAL_QUERY",
  classification: "CLASSIFICATION",
  clustering: "CLUSTERING",
  semantic_similarity: "SEMANTIC_SIMILARITY",
};

export function taskTypeOf({ body }: EmbeddingsCall): string | undefined {
  const asked = asText(body["task_type"]) ?? asText(body["input_type"]);
  return asked === undefined ? undefined : (TASK_TYPES[asked] ?? asked.toUpperCase());
}

export function textsOf({ input }: EmbeddingsCall): readonly string[] {
  return input.map((text) => (typeof text === "string" ? text : String(text)));
}

/** Google scales only vectors of full length to 1; callers expect it of all, or their products are no cosines. */
export function normalised(vector: readonly number[]): readonly number[] {
  const length = Math.hypot(...vector);
  return length === 0 || Math.abs(length - 1) < 1e-3 ? vector : vector.map((value) => value / length);
}
