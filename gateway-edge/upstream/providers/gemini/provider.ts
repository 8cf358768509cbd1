import { gemini as declaration } from "../../../../common/providers/gemini.ts";
import type { EmbeddingsAnswer, EmbeddingsCall, ProviderTarget, UpstreamRequest } from "../provider.ts";
import { asFields, asList, malformed, present } from "../shared/json-fields.ts";
import { readGeminiUsage } from "./answer.ts";
import { countedFields } from "./count.ts";
import { createGeminiProvider } from "./create.ts";
import { normalized, taskTypeOf, textsOf } from "./embeddings.ts";

const EMBEDDINGS_PER_CALL_MAX = 100;

/** Google's Gemini by API key (AI Studio), in its own API. */
export const gemini = createGeminiProvider({
  declaration,
  requestTo,
  embeddings: { method: "batchEmbedContents", batchMax: () => EMBEDDINGS_PER_CALL_MAX, body: embeddingsBody, readAnswer: readEmbeddings },
  count: {
    tokenizer: "google_ai_studio_api",
    body: (call, target) =>
      JSON.stringify({ generateContentRequest: { model: `models/${modelName(target)}`, ...countedFields(call, target) } }),
  },
});

function requestTo(target: ProviderTarget, method: string, body: string): UpstreamRequest {
  const base = (target.baseUrl ?? declaration.baseUrl).replace(/(?<!\/)\/+$/, "");
  return {
    url: `${base}/v1beta/models/${encodeURIComponent(modelName(target))}:${method}`,
    headers: {
      "content-type": "application/json",
      // Never in the URL, where every hop would log it.
      ...(target.apiKey === undefined ? {} : { "x-goog-api-key": target.apiKey }),
      ...(asFields(target.params["extra_headers"]) as Record<string, string>),
    },
    body,
  };
}

function modelName({ inferenceModelId }: ProviderTarget): string {
  return inferenceModelId.replace(/^models\//, "");
}

/** One request for each text: all texts in one content would give a single vector. */
function embeddingsBody(call: EmbeddingsCall, target: ProviderTarget): string {
  return JSON.stringify({
    requests: textsOf(call).map((text) => ({
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
  return { vectors: vectors.map(normalized), usage: readGeminiUsage(usageMetadata) };
}
