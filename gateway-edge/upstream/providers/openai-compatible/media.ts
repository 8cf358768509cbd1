import type { Fields, FormAdapter, ImagesAdapter, ProviderTarget, RerankAdapter, SpeechAdapter, UpstreamRequest } from "../provider.ts";
import { asFields, asList, asText, malformed, present } from "../shared/json-fields.ts";
import { readImageUsage } from "../shared/media-usage.ts";
import { writeForm } from "../shared/multipart-form.ts";
import { readRerankAnswer } from "../shared/rerank-answer.ts";

/** How a server of this kind is called: URL and headers of an operation, and a JSON request to it. */
export interface OpenAiEndpoint {
  locate(target: ProviderTarget): { readonly url: string; readonly headers: Readonly<Record<string, string>> };
  request(target: ProviderTarget, fields: Fields): UpstreamRequest;
}

export function speechOf(endpoint: OpenAiEndpoint): SpeechAdapter {
  return { buildRequest: ({ body }, target) => endpoint.request(target, body) };
}

export function formOf(endpoint: OpenAiEndpoint): FormAdapter {
  return {
    buildRequest: (call, target) => {
      const fields = call.fields.filter(([name]) => name !== "model");
      const { contentType, body, bodyBytes } = writeForm({ ...call, fields: [["model", target.inferenceModelId], ...fields] });
      const { url, headers } = endpoint.locate(target);
      return { url, headers: { ...headers, "content-type": contentType }, body, bodyBytes };
    },
  };
}

export function imagesOf(endpoint: OpenAiEndpoint): ImagesAdapter {
  return {
    streams: true,
    buildRequest: ({ body }, target) => endpoint.request(target, imageFields(body, target)),
    readAnswer: (body) => {
      const answer = asFields(body);
      if (asList(answer["data"]).length === 0) throw malformed("an answer without images");
      return { answer, usage: readImageUsage(answer) };
    },
  };
}

/** Models that always answer in base64 refuse the parameter for it. */
function imageFields(body: Fields, { inferenceModelId, params }: ProviderTarget): Fields {
  const model = asText(params["base_model"]) ?? inferenceModelId;
  const { response_format: format, ...others } = body;
  return /^(chatgpt|gpt)-image/.test(model) && format === "b64_json" ? others : body;
}

/** As Together, Fireworks, vLLM and Jina have it: Cohere's request, and its answer or a similar one. */
export function rerankOf(endpoint: OpenAiEndpoint): RerankAdapter {
  return {
    buildRequest: ({ query, documents, topN, body }, target) =>
      endpoint.request(target, present({ ...body, query, documents, top_n: topN, return_documents: false })),
    readAnswer: readRerankAnswer,
  };
}
