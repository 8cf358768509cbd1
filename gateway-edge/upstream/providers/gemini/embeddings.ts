import type { EmbeddingsCall } from "../provider.ts";
import { asText } from "../shared/json-fields.ts";

/** Cohere's names of the purpose of a vector, which callers of many providers use, as Google's. */
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

/** Google normalizes only vectors of full length; callers expect it of all, otherwise dot products are not cosines. */
export function normalized(vector: readonly number[]): readonly number[] {
  const length = Math.hypot(...vector);
  return length === 0 || Math.abs(length - 1) < 1e-3 ? vector : vector.map((value) => value / length);
}
