import { z } from "zod";
import { AppError } from "../../../common/errors.ts";
import { parseRequest, type WithoutNulls } from "../request-body.ts";
import { timeoutFields } from "./timeout-fields.ts";

const DOCUMENTS_MAX = 10_000;

const wholeNumber = z.number().refine(Number.isInteger, "must be a whole number").min(1).nullish();

/** A rerank request in Cohere's format. */
export const rerankRequest = z.looseObject({
  model: z.string().min(1).max(256),
  query: z.string(),
  documents: z.array(z.union([z.string(), z.looseObject({})], { error: () => "must be a string or an object" })).max(DOCUMENTS_MAX),
  top_n: wholeNumber,
  return_documents: z.boolean().nullish(),
  max_tokens_per_doc: wholeNumber,
  max_chunks_per_doc: wholeNumber,
  rank_fields: z.array(z.string()).max(100).nullish(),
  ...timeoutFields,
});

export type RerankRequest = WithoutNulls<z.output<typeof rerankRequest>>;

export function parseRerankRequest(body: unknown): RerankRequest {
  const request = parseRequest(rerankRequest, body);
  if (request.query === "") throw new AppError("INVALID_REQUEST", "query: must not be empty", { param: "query" });
  if (request.documents.length === 0) throw new AppError("INVALID_REQUEST", "documents: must not be empty", { param: "documents" });
  return request;
}

/** The text of a document that is ranked: its `text`, or the requested fields, one per line. */
export function documentText(document: RerankRequest["documents"][number], rankFields: readonly string[] | undefined): string {
  if (typeof document === "string") return document;
  if (rankFields === undefined && typeof document["text"] === "string") return document["text"];
  const lines = (rankFields ?? Object.keys(document)).map((name) => [name, document[name]] as const);
  const texts = lines.filter(([, value]) => value !== undefined && value !== null);
  return texts.map(([name, value]) => `${name}: ${typeof value === "string" ? value : JSON.stringify(value)}`).join("\n");
}
