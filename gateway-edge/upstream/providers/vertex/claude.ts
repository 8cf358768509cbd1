import { anthropic as declaration } from "../../../../common/providers/anthropic.ts";
import { paramsOf } from "../../../../common/providers/shared/params.ts";
import { readAnthropicAnswer } from "../anthropic/answer.ts";
import { anthropicHeaders } from "../anthropic/headers.ts";
import { messagesOf } from "../anthropic/messages.ts";
import { anthropicBody, countedBody } from "../anthropic/request.ts";
import { readAnthropicStream } from "../anthropic/stream.ts";
import type { ChatAdapter, Fields, Provider, ProviderTarget, RemoteCount, UpstreamEvent, UpstreamRequest } from "../provider.ts";
import { asFields } from "../shared/json-fields.ts";
import { readCount } from "../shared/remote-count.ts";

type RequestTo = (target: ProviderTarget, method: string, body: string) => UpstreamRequest;

const VERSION = "vertex-2023-10-16";
/** Google's address for counting has this in place of a model. */
const COUNTER = "count-tokens";

export function publisherOf(inferenceModelId: string): "anthropic" | "google" {
  return isClaude(inferenceModelId) || inferenceModelId === COUNTER ? "anthropic" : "google";
}

function isClaude(inferenceModelId: string): boolean {
  return inferenceModelId.startsWith("claude-");
}

/** Vertex with Anthropic's models: their own API at Google's address, with the version in the body. */
export function withClaude(gemini: Provider, requestTo: RequestTo): Provider {
  const request = (body: Fields, target: ProviderTarget, { stream, betas }: { stream: boolean; betas?: readonly string[] | undefined }) => {
    const { model: _model, stream: _stream, ...fields } = body;
    const sent = requestTo(target, stream ? "streamRawPredict" : "rawPredict", versioned({ ...fields, ...(stream && { stream }) }));
    const { "anthropic-beta": beta } = anthropicHeaders(target, betas);
    return beta === undefined ? sent : { ...sent, headers: { ...sent.headers, "anthropic-beta": beta } };
  };
  return {
    ...gemini,
    ...(gemini.chat && { chat: chatOf(gemini.chat, (call, target) => request(anthropicBody(call, plain(target)), target, call)) }),
    messages: messagesOf({
      framing: "sse",
      isUsual: ({ inferenceModelId }) => isClaude(inferenceModelId),
      request: (body, call, target) => request(body, target, call),
    }),
    ...(gemini.remoteCount && { remoteCount: countOf(gemini.remoteCount, requestTo) }),
  };
}

function versioned(fields: Fields): string {
  return JSON.stringify({ ...fields, anthropic_version: VERSION });
}

/** Versions of Anthropic's own API do not apply here. */
function plain(target: ProviderTarget): ProviderTarget {
  const { anthropic_version: _version, ...params } = target.params;
  return { ...target, params };
}

function chatOf(gemini: ChatAdapter, buildRequest: ChatAdapter["buildRequest"]): ChatAdapter {
  const claudeParams = paramsOf(declaration, "chat");
  return {
    ...gemini,
    supportedParams: (model) => (isClaude(model) ? claudeParams(model) : gemini.supportedParams(model)),
    takesBlocks: isClaude,
    buildRequest: (call, target) => (isClaude(target.inferenceModelId) ? buildRequest : gemini.buildRequest)(call, target),
    readAnswer: (body, call) => (asFields(body)["type"] === undefined ? gemini.readAnswer : readAnthropicAnswer)(body, call),
    readStream: async function* (events, call) {
      // Only Anthropic's events have a name.
      const iterator = events[Symbol.asyncIterator]();
      const first = await iterator.next();
      const isNamed = first.done !== true && first.value.event !== undefined;
      yield* (isNamed ? readAnthropicStream : gemini.readStream)(continued(first, iterator), call);
    },
  };
}

async function* continued(first: IteratorResult<UpstreamEvent>, iterator: AsyncIterator<UpstreamEvent>): AsyncGenerator<UpstreamEvent> {
  try {
    for (let next = first; !next.done; next = await iterator.next()) yield next.value;
  } finally {
    await iterator.return?.();
  }
}

function countOf(gemini: RemoteCount, requestTo: RequestTo): RemoteCount {
  return {
    ...gemini,
    buildRequest: (call, target) => {
      if (!isClaude(target.inferenceModelId)) return gemini.buildRequest(call, target);
      return requestTo({ ...target, inferenceModelId: COUNTER }, "rawPredict", versioned(countedBody(call, plain(target))));
    },
    readAnswer: (body) => {
      const tokens = asFields(body)["input_tokens"];
      return tokens === undefined ? gemini.readAnswer(body) : readCount(tokens);
    },
  };
}
