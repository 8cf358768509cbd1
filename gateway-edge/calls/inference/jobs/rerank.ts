import { documentText, type RerankRequest } from "../../../schemas/calls/rerank.ts";
import type { Provider, RerankAdapter, RerankAnswer } from "../../../upstream/providers/provider.ts";
import type { Job } from "../job.ts";
import { textFieldsTraits } from "../traits/text-fields.ts";
import { logTagsOf, providerFields, tagsOf } from "./gateway-fields.ts";

/** A search unit is one query with a hundred documents; a document of more than 500 tokens counts once for every 500. */
const DOCUMENTS_PER_SEARCH = 100;
const BYTES_PER_DOCUMENT = 1500;

export function rerankJob(request: RerankRequest): Job<RerankAnswer> {
  const documents = request.documents.map((document) => documentText(document, request.rank_fields));
  const pieces = documents.reduce((sum, text) => sum + Math.max(1, Math.ceil(Buffer.byteLength(text) / BYTES_PER_DOCUMENT)), 0);
  const { query, top_n: topN } = request;
  return {
    operation: "rerank",
    model: request.model,
    stream: false,
    choiceCount: 1,
    maxOutputTokens: 0,
    endUser: undefined,
    tags: tagsOf(request),
    logTags: logTagsOf(request),
    // The model reads the query with every document.
    countInput: (counter) => documents.reduce((sum, text) => sum + counter.countText(text), counter.countText(query) * documents.length),
    most: { search: { input: Math.ceil(pieces / DOCUMENTS_PER_SEARCH), output: 0 } },
    estimate: ({ inputTokens }) => ({
      input: inputTokens,
      output: 0,
      amounts: { search: { input: Math.ceil(documents.length / DOCUMENTS_PER_SEARCH), output: 0 } },
    }),
    isOfferedBy: (provider) => provider.rerank !== undefined,
    request: ({ provider, target }) => adapterOf(provider).buildRequest({ query, documents, topN, body: othersOf(request) }, target),
    readAnswer: (provider, body) => {
      const answer = adapterOf(provider).readAnswer(body);
      const known = answer.results.filter(({ index }) => documents[index] !== undefined);
      const results = known.toSorted((left, right) => right.score - left.score).slice(0, topN ?? known.length);
      return { answer: { ...answer, results }, usage: answer.usage, texts: [] };
    },
    readStream: () => {
      throw new Error("a ranking has no stream");
    },
    // Documents are the texts they are ranked by: guardrails read exactly what is sent.
    traits: () => textFieldsTraits({ ...request, documents }, ["query", "documents"], (changed) => rerankJob(changed as RerankRequest)),
  };
}

/** The fields for the provider without the documents: those are sent as text and added to the answer here. */
function othersOf(request: RerankRequest) {
  const { query: _query, documents: _documents, top_n: _topN, return_documents: _return, rank_fields: _fields, ...others } = request;
  return providerFields(others);
}

function adapterOf(provider: Provider): RerankAdapter {
  if (!provider.rerank) throw new Error(`${provider.kind} has no rerank`);
  return provider.rerank;
}
