import { limitFieldOf, paramsOf } from "../../../../common/providers/shared/params.ts";
import type { ProviderKind, ProviderOperation } from "../../../../common/providers/shared/provider-kind.ts";
import type {
  ChatAdapter,
  CompletionsAdapter,
  EmbeddingsAdapter,
  Fields,
  ModerationsAdapter,
  Operation,
  Provider,
  ProviderTarget,
  RealtimeAdapter,
  StreamPart,
  UpstreamEvent,
  UpstreamRequest,
} from "../provider.ts";
import { asFields, asList, asText, brokenOff, malformed, parseEvent } from "../shared/json-fields.ts";
import { bearerHeaders, under, unusable } from "../shared/locate-upstream.ts";
import { readOpenAiUsage } from "../shared/openai-usage.ts";
import { readInlineError, readUpstreamError } from "../shared/read-upstream-error.ts";
import { openAiChatFields, readOpenAiAnswer, readOpenAiStream } from "./answer.ts";
import { readFinishReason } from "./finish.ts";
import { formOf, imagesOf, type OpenAiEndpoint, rerankOf, speechOf } from "./media.ts";
import { responsesOf } from "./responses.ts";
import { readOpenAiEmbeddings } from "./vectors.ts";

/** The differences between servers with OpenAI's API. */
export interface OpenAiSpec {
  readonly declaration: ProviderKind;
  /** Whether embeddings take lists of token numbers. */
  readonly takesTokens?: boolean;
  /** Final changes to a chat body; takes and returns plain fields. */
  readonly shapeChat?: (fields: Fields) => Fields;
  readonly shapeEmbeddings?: (fields: Fields) => Fields;
  /** Whether a deployment has the Responses API where its operator did not set it; absent: none has. */
  readonly speaksResponses?: (target: ProviderTarget) => boolean;
  /** URL and headers of an operation. */
  readonly locate?: Locate;
  /** URL and headers of a realtime session; absent: as other operations, with the model in the query. */
  readonly locateRealtime?: RealtimeAdapter["locate"];
}

type Locate = (target: ProviderTarget, path: string) => { readonly url: string; readonly headers: Readonly<Record<string, string>> };

const PATHS: Readonly<Record<Operation, string>> = {
  chat: "chat/completions",
  responses: "responses",
  completions: "completions",
  embeddings: "embeddings",
  moderations: "moderations",
  speech: "audio/speech",
  transcriptions: "audio/transcriptions",
  translations: "audio/translations",
  images: "images/generations",
  imageEdits: "images/edits",
  rerank: "rerank",
  realtime: "realtime",
};

/** A provider from its differences. */
export function createOpenAiProvider(spec: OpenAiSpec): Provider {
  const has = (operation: ProviderOperation) => spec.declaration.operations.includes(operation);
  return {
    kind: spec.declaration.kind,
    ...(has("chat") ? { chat: chatOf(spec), responses: responsesOf(endpointOf(spec, "responses"), spec.speaksResponses ?? none) } : {}),
    ...(has("completions") ? { completions: completionsOf(spec) } : {}),
    ...(has("embeddings") ? { embeddings: embeddingsOf(spec) } : {}),
    ...(has("moderations") ? { moderations: moderationsOf(spec) } : {}),
    ...(has("speech") ? { speech: speechOf(endpointOf(spec, "speech")) } : {}),
    ...(has("transcriptions") ? { transcriptions: formOf(endpointOf(spec, "transcriptions")) } : {}),
    ...(has("translations") ? { translations: formOf(endpointOf(spec, "translations")) } : {}),
    ...(has("images") ? { images: imagesOf(endpointOf(spec, "images")) } : {}),
    ...(has("imageEdits") ? { imageEdits: formOf(endpointOf(spec, "imageEdits")) } : {}),
    ...(has("rerank") ? { rerank: rerankOf(endpointOf(spec, "rerank")) } : {}),
    ...(has("realtime") ? { realtime: { locate: spec.locateRealtime ?? ((target) => locateRealtime(spec, target)) } } : {}),
    readError: readUpstreamError,
  };
}

const none = () => false;

function locateRealtime(spec: OpenAiSpec, target: ProviderTarget): Located {
  const { url, headers } = locate(spec, target, "realtime");
  return { url: `${url}?model=${encodeURIComponent(target.inferenceModelId)}`, headers };
}

function chatOf(spec: OpenAiSpec): ChatAdapter {
  return {
    supportedParams: paramsOf(spec.declaration, "chat"),
    framing: "sse",
    buildRequest: (call, target) => {
      const model = asText(target.params["base_model"]) ?? target.inferenceModelId;
      const fields = openAiChatFields(call, target, limitFieldOf(spec.declaration, model));
      return jsonRequest(spec, { target, operation: "chat", fields: spec.shapeChat?.(fields) ?? fields });
    },
    readAnswer: readOpenAiAnswer,
    readStream: readOpenAiStream,
  };
}

function completionsOf(spec: OpenAiSpec): CompletionsAdapter {
  return {
    supportedParams: paramsOf(spec.declaration, "completions"),
    buildRequest: ({ body, stream, maxOutputTokens }, target) => {
      const { stream: _stream, stream_options: _options, ...fields } = body;
      const streaming = stream ? { stream: true, stream_options: { include_usage: true } } : {};
      return jsonRequest(spec, { target, operation: "completions", fields: { ...fields, max_tokens: maxOutputTokens, ...streaming } });
    },
    readAnswer: (body) => {
      const answer = asFields(body);
      const choices = asList(answer["choices"]).map(asFields);
      if (choices.length === 0) throw malformed("an answer without choices");
      return { choices: choices.map(readCompletion), usage: readOpenAiUsage(answer["usage"]) };
    },
    readStream: readCompletionStream,
  };
}

function readCompletion(choice: Fields, position: number) {
  return {
    index: typeof choice["index"] === "number" ? choice["index"] : position,
    text: asText(choice["text"]) ?? "",
    finishReason: readFinishReason(asText(choice["finish_reason"]) ?? "stop", { calledTools: false }),
    logprobs: choice["logprobs"] ?? null,
  };
}

async function* readCompletionStream(events: AsyncIterable<UpstreamEvent>): AsyncGenerator<StreamPart> {
  let finished = false;
  for await (const { data } of events) {
    if (data === "[DONE]") break;
    const chunk = parseEvent(data);
    if (chunk["error"] !== undefined && chunk["error"] !== null) throw readInlineError(chunk);
    for (const part of asList(chunk["choices"]).flatMap((choice) => readCompletionDelta(asFields(choice)))) {
      finished ||= part.type === "finish";
      yield part;
    }
    const usage = readOpenAiUsage(chunk["usage"]);
    if (usage) yield { type: "usage", usage };
  }
  if (!finished) throw brokenOff();
}

function readCompletionDelta(choice: Fields): StreamPart[] {
  const { index, text, finishReason, logprobs } = readCompletion(choice, 0);
  const parts: StreamPart[] = [];
  if (text !== "" || logprobs !== null) parts.push({ type: "text-delta", choice: index, text, ...(logprobs === null ? {} : { logprobs }) });
  if (asText(choice["finish_reason"]) !== undefined) parts.push({ type: "finish", choice: index, reason: finishReason });
  return parts;
}

function embeddingsOf(spec: OpenAiSpec): EmbeddingsAdapter {
  return {
    supportedParams: paramsOf(spec.declaration, "embeddings"),
    takesTokens: spec.takesTokens ?? false,
    buildRequest: ({ input, dimensions, body }, target) => {
      const { encoding_format: _format, dimensions: _dimensions, input: _input, ...others } = body;
      const wanted = dimensions === undefined ? {} : { dimensions };
      const fields = { ...others, input, encoding_format: "float", ...wanted };
      return jsonRequest(spec, { target, operation: "embeddings", fields: spec.shapeEmbeddings?.(fields) ?? fields });
    },
    readAnswer: readOpenAiEmbeddings,
  };
}

function moderationsOf(spec: OpenAiSpec): ModerationsAdapter {
  return {
    buildRequest: ({ body }, target) => jsonRequest(spec, { target, operation: "moderations", fields: body }),
    readAnswer: (body) => {
      const answer = asFields(body);
      if (!Array.isArray(answer["results"])) throw malformed("a moderation without results");
      return answer;
    },
  };
}

function endpointOf(spec: OpenAiSpec, operation: Operation): OpenAiEndpoint {
  return {
    locate: (target) => locate(spec, target, operation),
    request: (target, fields) => jsonRequest(spec, { target, operation, fields }),
  };
}

interface JsonCall {
  readonly target: ProviderTarget;
  readonly operation: Operation;
  readonly fields: Fields;
}

function jsonRequest(spec: OpenAiSpec, { target, operation, fields }: JsonCall): UpstreamRequest {
  const { url, headers } = locatedJson(spec, target, operation);
  const { extra_body: extra } = target.params;
  const model = target.inferenceModelId;
  // Most are complete already, and a copy of a request costs as much as a part of its text.
  const sent = extra === undefined && fields["model"] === model ? fields : { ...fields, ...asFields(extra), model };
  return { url, headers, body: JSON.stringify(sent) };
}

type Located = ReturnType<Locate>;

const located = new WeakMap<ProviderTarget, Map<OpenAiSpec, Partial<Record<Operation, Located>>>>();

/** Equal for every call of a deployment, so computed once. */
function locatedJson(spec: OpenAiSpec, target: ProviderTarget, operation: Operation): Located {
  const bySpec = located.get(target) ?? new Map<OpenAiSpec, Partial<Record<Operation, Located>>>();
  const byOperation = bySpec.get(spec) ?? {};
  const known = byOperation[operation];
  if (known) return known;
  const { url, headers } = locate(spec, target, operation);
  const found = { url, headers: { ...headers, "content-type": "application/json" } };
  located.set(target, bySpec.set(spec, { ...byOperation, [operation]: found }));
  return found;
}

function locate({ locate: own, declaration: { kind, baseUrl } }: OpenAiSpec, target: ProviderTarget, operation: Operation): Located {
  const path = PATHS[operation];
  if (own) return own(target, path);
  const base = target.baseUrl ?? baseUrl;
  if (base === undefined) throw unusable(kind, "a deployment needs api_base");
  return { url: under(base, path), headers: bearerHeaders(target) };
}
