import { AppError } from "../../../../common/errors.ts";
import { vertexAi as declaration } from "../../../../common/providers/vertex-ai.ts";
import { countedFields } from "../gemini/count.ts";
import { createGeminiProvider } from "../gemini/create.ts";
import { normalized, taskTypeOf, textsOf } from "../gemini/embeddings.ts";
import { parsedOrUndefined } from "../gemini/fields.ts";
import type { EmbeddingsAnswer, EmbeddingsCall, Fields, ProviderTarget, UpstreamRequest } from "../provider.ts";
import { asCount, asFields, asList, asText, malformed, present } from "../shared/json-fields.ts";
import { publisherOf, withClaude } from "./claude.ts";

const LOCATION_DEFAULT = "us-central1";
/** How many texts a model takes in one call, by the first matching pattern. */
const TEXTS_MAX: readonly (readonly [pattern: RegExp, limit: number])[] = [
  [/^gemini-embedding/, 1],
  [/./, 250],
];

/** Gemini in a Google Cloud project: the same bodies at another address, with a service account's token. */
const gemini = createGeminiProvider({
  declaration,
  requestTo,
  embeddings: { method: "predict", batchMax, body: embeddingsBody, readAnswer: readEmbeddings },
  count: { tokenizer: "vertex_ai_api", body: (call, target) => JSON.stringify(countedFields(call, target)) },
});

/** With the models of Anthropic there. */
export const vertex = withClaude(gemini, requestTo);

function requestTo(target: ProviderTarget, method: string, body: string): UpstreamRequest {
  const credentials = readCredentials(target.params["vertex_credentials"]);
  const project = asText(target.params["vertex_project"]) ?? asText(credentials?.["project_id"]);
  const location = asText(target.params["vertex_location"]) ?? LOCATION_DEFAULT;
  if (project === undefined) throw misconfigured("no vertex_project");
  // It becomes part of a host name: anything else could send the token elsewhere.
  if (!/^[a-z0-9-]{1,63}$/.test(location)) throw misconfigured("a vertex_location that is none");
  const host = location === "global" ? "aiplatform.googleapis.com" : `${location}-aiplatform.googleapis.com`;
  const base = (target.baseUrl ?? `https://${host}`).replace(/(?<!\/)\/+$/, "");
  return {
    url: `${base}/v1/projects/${encodeURIComponent(project)}/locations/${location}/${resource(target)}:${method}`,
    headers: { "content-type": "application/json", ...(asFields(target.params["extra_headers"]) as Record<string, string>) },
    body,
    signing: { type: "google", credentials },
  };
}

/** A tuned model is an endpoint of the project itself, named by a number. */
function resource({ inferenceModelId }: ProviderTarget): string {
  if (/^\d+$/.test(inferenceModelId)) return `endpoints/${inferenceModelId}`;
  return `publishers/${publisherOf(inferenceModelId)}/models/${encodeURIComponent(inferenceModelId)}`;
}

/** A service account as an object or as JSON text; none means the machine's own identity. */
function readCredentials(value: unknown): Fields | undefined {
  if (value === undefined || value === null || value === "") return undefined;
  const credentials = typeof value === "string" ? parsedOrUndefined(value) : value;
  // A path or an invalid text must not silently become the machine's identity.
  if (typeof credentials !== "object" || credentials === null) throw misconfigured("vertex_credentials that are no JSON");
  return credentials as Fields;
}

function misconfigured(what: string): AppError {
  return new AppError("UPSTREAM_UNAVAILABLE", "The provider cannot be reached.", { internal: `vertex: ${what}` });
}

function batchMax(inferenceModelId: string): number {
  return TEXTS_MAX.find(([pattern]) => pattern.test(inferenceModelId))?.[1] ?? 1;
}

function embeddingsBody(call: EmbeddingsCall): string {
  return JSON.stringify({
    instances: textsOf(call).map((content) => ({ content, ...present({ task_type: taskTypeOf(call) }) })),
    ...(call.dimensions === undefined ? {} : { parameters: { outputDimensionality: call.dimensions } }),
  });
}

function readEmbeddings(body: unknown): EmbeddingsAnswer {
  const embeddings = asList(asFields(body)["predictions"]).map((prediction) => asFields(asFields(prediction)["embeddings"]));
  const vectors = embeddings.map(({ values }) => asList(values) as readonly number[]);
  if (vectors.length === 0 || vectors.some(({ length }) => length === 0)) throw malformed("an answer without vectors");
  const promptTokens = embeddings.reduce((sum, { statistics }) => sum + asCount(asFields(statistics)["token_count"]), 0);
  const usage = { promptTokens, cachedTokens: 0, cacheWriteTokens: 0, completionTokens: 0, reasoningTokens: 0 };
  return { vectors: vectors.map(normalized), usage: promptTokens > 0 ? usage : undefined };
}
