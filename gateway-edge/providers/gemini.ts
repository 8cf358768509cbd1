import { readGeminiAnswer, readGeminiUsage } from "./gemini-answer.ts";
import { countedFields, readTotalTokens } from "./gemini-count.ts";
import { EMBEDDING_PARAMS, normalised, taskTypeOf, textsWithin } from "./gemini-embeddings.ts";
import { readGeminiError } from "./gemini-errors.ts";
import { geminiBody, geminiParams } from "./gemini-request.ts";
import { readGeminiStream } from "./gemini-stream.ts";
import { asFields, asList, malformed, present } from "./json-fields.ts";
import type { EmbeddingsAnswer, EmbeddingsCall, Provider, ProviderTarget, UpstreamRequest } from "./provider.ts";

const BASE_URL = "https://generativelanguage.googleapis.com";
const EMBEDDINGS_PER_CALL_MAX = 100;

/** Google's Gemini by API key (AI Studio), in its own dialect. */
export const gemini: Provider = {
  kind: "gemini",
  chat: {
    supportedParams: geminiParams,
    framing: "sse",
    buildRequest: (call, target) =>
      requestTo(target, call.stream ? "streamGenerateContent?alt=sse" : "generateContent", geminiBody(call, target)),
    readAnswer: readGeminiAnswer,
    readStream: readGeminiStream,
  },
  embeddings: {
    supportedParams: () => EMBEDDING_PARAMS,
    takesTokens: false,
    buildRequest: (call, target) => requestTo(target, "batchEmbedContents", embeddingsBody(call, target)),
    readAnswer: readEmbeddings,
  },
  readError: readGeminiError,
  remoteCount: {
    tokenizer: "google_ai_studio_api",
    takesContents: true,
    buildRequest: (call, target) => {
      const generateContentRequest = { model: `models/${modelName(target)}`, ...countedFields(call, target) };
      return requestTo(target, "countTokens", JSON.stringify({ generateContentRequest }));
    },
    readAnswer: readTotalTokens,
  },
};

function requestTo(target: ProviderTarget, method: string, body: string): UpstreamRequest {
  const base = (target.baseUrl ?? BASE_URL).replace(/\/+$/, "");
  return {
    url: `${base}/v1beta/models/${encodeURIComponent(modelName(target))}:${method}`,
    headers: {
      "content-type": "application/json",
      // Never in the address, where it would be in the logs of every hop.
      ...(target.apiKey === undefined ? {} : { "x-goog-api-key": target.apiKey }),
      ...(asFields(target.params["extra_headers"]) as Record<string, string>),
    },
    body,
  };
}

function modelName({ inferenceModelId }: ProviderTarget): string {
  return inferenceModelId.replace(/^models\//, "");
}

/** One request for each text: all texts in one content would give one vector for all of them. */
function embeddingsBody(call: EmbeddingsCall, target: ProviderTarget): string {
  return JSON.stringify({
    requests: textsWithin(call, EMBEDDINGS_PER_CALL_MAX).map((text) => ({
      model: `models/${modelName(target)}`,
      content: { parts: [{ text }] },
      ...present({ taskType: taskTypeOf(call), outputDimensionality: call.dimensions }),
    })),
  });
}

function readEmbeddings(body: unknown): EmbeddingsAnswer {
  const { embeddings, usageMetadata } = asFields(body);
  const vectors = asList(embeddings).map((each) => asList(asFields(each)["values"]) as readonly number[]);
  if (vectors.length === 0 || vectors.some(({ length }) => length === 0)) throw malformed("an answer without vectors");
  return { vectors: vectors.map(normalised), usage: readGeminiUsage(usageMetadata) };
}
