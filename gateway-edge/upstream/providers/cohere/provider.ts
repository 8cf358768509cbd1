import { AppError } from "../../../../common/errors.ts";
import { cohere as declaration, takesDimensions } from "../../../../common/providers/cohere.ts";
import { paramsOf } from "../../../../common/providers/shared/params.ts";
import type { EmbeddingsAnswer, EmbeddingsCall, Provider, ProviderTarget, UpstreamRequest } from "../provider.ts";
import { asCount, asFields, asList, malformed, present } from "../shared/json-fields.ts";
import { readUpstreamError } from "../shared/read-upstream-error.ts";
import { readRerankAnswer } from "../shared/rerank-answer.ts";
import { readCohereAnswer, readCohereStream } from "./answer.ts";
import { cohereBody } from "./request.ts";

const TEXTS_MAX = 96;

/** Cohere's v2 API: chat, embeddings and rerank. */
export const cohere: Provider = {
  kind: declaration.kind,
  chat: {
    supportedParams: paramsOf(declaration, "chat"),
    framing: "sse",
    buildRequest: (call, target) => requestTo(target, "chat", cohereBody(call, target)),
    readAnswer: readCohereAnswer,
    readStream: readCohereStream,
  },
  embeddings: {
    supportedParams: paramsOf(declaration, "embeddings"),
    takesTokens: false,
    batchMax: () => TEXTS_MAX,
    buildRequest: (call, target) => requestTo(target, "embed", embeddingsBody(call, target)),
    readAnswer: readEmbeddings,
  },
  rerank: {
    buildRequest: ({ query, documents, topN, body }, target) => {
      const fields = { query, documents, top_n: topN, max_tokens_per_doc: body["max_tokens_per_doc"] };
      return requestTo(target, "rerank", JSON.stringify({ model: target.inferenceModelId, ...present(fields) }));
    },
    readAnswer: readRerankAnswer,
  },
  readError: readUpstreamError,
};

function requestTo(target: ProviderTarget, operation: string, body: string): UpstreamRequest {
  const base = (target.baseUrl ?? declaration.baseUrl).replace(/(?<!\/)\/+$/, "").replace(/\/v[12]$/, "");
  return {
    url: `${base}/v2/${operation}`,
    headers: {
      "content-type": "application/json",
      ...(target.apiKey === undefined ? {} : { authorization: `Bearer ${target.apiKey}` }),
      ...(asFields(target.params["extra_headers"]) as Record<string, string>),
    },
    body,
  };
}

function embeddingsBody({ input, dimensions, body }: EmbeddingsCall, { inferenceModelId }: ProviderTarget): string {
  if (dimensions !== undefined && !takesDimensions(inferenceModelId)) {
    throw new AppError("UNSUPPORTED_PARAMETER", "This model's vectors have a fixed length: leave out dimensions.", { param: "dimensions" });
  }
  return JSON.stringify({
    model: inferenceModelId,
    texts: input,
    // Cohere requires it, OpenAI's clients do not know it: most of them build an index.
    input_type: body["input_type"] ?? "search_document",
    embedding_types: ["float"],
    ...present({ output_dimension: dimensions, truncate: body["truncate"] }),
  });
}

function readEmbeddings(body: unknown): EmbeddingsAnswer {
  const { embeddings, meta } = asFields(body);
  const vectors = asList(asFields(embeddings)["float"]) as readonly (readonly number[])[];
  if (vectors.length === 0 || vectors.some((vector) => asList(vector).length === 0)) throw malformed("an answer without vectors");
  const promptTokens = asCount(asFields(asFields(meta)["billed_units"])["input_tokens"]);
  const usage = { promptTokens, cachedTokens: 0, cacheWriteTokens: 0, completionTokens: 0, reasoningTokens: 0 };
  return { vectors, usage: promptTokens > 0 ? usage : undefined };
}
