import type { AppError } from "../../common/errors.ts";

/**
 * The whole contract of a provider adapter. Adapters are pure: they turn our call into bytes and bytes into our parts.
 * The network call, time-out, abort, retry and metering exist once, outside, in inference/.
 */
export interface Provider {
  /** Equals the provider kind of a deployment in the catalog. */
  readonly kind: string;
  readonly operations: ReadonlySet<Operation>;
  buildRequest(call: ProviderCall, target: ProviderTarget): UpstreamRequest;
  /** A whole JSON answer. Throws UPSTREAM_UNAVAILABLE when it is not what the provider promised. */
  readAnswer(body: unknown): ChatAnswer;
  /** Events of a stream as our parts, in order. A `usage` part, when there is one, is the last word on usage. */
  readStream(events: AsyncIterable<SseEvent>): AsyncIterable<StreamPart>;
  /** An upstream's refusal as our error. Its own 401 or 403 is our fault, never the caller's. */
  readError(status: number, body: unknown): AppError;
  /** Tokens of the input, before the call: exact where the provider's counting is known, else never too low by much. */
  countInput(body: ChatBody): number;
  /** Tokens of a text that was delivered; for calls whose provider never said. */
  countOutput(text: string): number;
}

export type Operation = "chat";

/** An OpenAI chat body that passed validation; fields we do not know are kept. */
export interface ChatBody {
  readonly [field: string]: unknown;
  readonly messages: readonly ChatMessage[];
}

export interface ChatMessage {
  readonly [field: string]: unknown;
  readonly role: string;
  readonly content?: unknown;
}

export interface ProviderCall {
  readonly operation: Operation;
  readonly body: ChatBody;
  readonly stream: boolean;
  /** The most tokens each choice may have; always sent, because the reservation was made for it. */
  readonly maxOutputTokens: number;
}

/** What an adapter may know of a deployment. */
export interface ProviderTarget {
  readonly inferenceModelId: string;
  readonly baseUrl?: string | undefined;
  readonly apiKey?: string | undefined;
}

export interface UpstreamRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface UpstreamResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Pulled, so that a slow client slows the upstream; ends or throws when the signal of its request is aborted. */
  readonly body: AsyncIterable<Uint8Array>;
}

/** One network call, or one call in this process; faked in tests. Rejects when no answer came. */
export type Send = (request: UpstreamRequest, signal: AbortSignal) => Promise<UpstreamResponse>;

export interface SseEvent {
  readonly event: string | undefined;
  readonly data: string;
}

export interface ChatAnswer {
  readonly choices: readonly ChatChoice[];
  readonly usage: ReportedUsage | undefined;
}

export interface ChatChoice {
  readonly index: number;
  /** As OpenAI writes it: content, refusal, tool_calls, ... without the role. */
  readonly message: Readonly<Record<string, unknown>>;
  readonly finishReason: string;
  readonly logprobs: unknown;
}

export type StreamPart =
  | { readonly type: "text-delta"; readonly choice: number; readonly text: string }
  /** Any other delta fields in OpenAI's words (tool_calls, refusal, ...); `text` is what counts as output in them. */
  | { readonly type: "other-delta"; readonly choice: number; readonly fields: Readonly<Record<string, unknown>>; readonly text: string }
  | { readonly type: "finish"; readonly choice: number; readonly reason: string }
  | { readonly type: "usage"; readonly usage: ReportedUsage };

/** Usage as OpenAI reports it: prompt includes cached, completion includes reasoning. inference/usage.ts takes it apart. */
export interface ReportedUsage {
  readonly promptTokens: number;
  readonly cachedTokens: number;
  readonly cacheWriteTokens: number;
  readonly completionTokens: number;
  readonly reasoningTokens: number;
}
