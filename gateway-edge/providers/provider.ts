import type { AppError } from "../../common/errors.ts";

/**
 * The whole contract of a provider adapter. Adapters are pure: they turn our call into a request and bytes into our parts. The
 * network call, signing, time-outs, aborts, retries, fallbacks and metering exist once, outside, in inference/.
 */
export interface Provider {
  /** Equals the provider kind of a deployment in the catalog. */
  readonly kind: string;
  /** What it can do; an operation that is absent is refused before anything is reserved. */
  readonly chat?: ChatAdapter;
  readonly completions?: CompletionsAdapter;
  readonly embeddings?: EmbeddingsAdapter;
  readonly moderations?: ModerationsAdapter;
  readonly speech?: SpeechAdapter;
  readonly transcriptions?: FormAdapter;
  readonly translations?: FormAdapter;
  /** An upstream's refusal as our error. Its own 401 or 403 is our fault, never the caller's. */
  readError(failure: UpstreamFailure): AppError;
  /** Counts tokens where the provider's own way is known here; absent: counted by our tokenizer. */
  readonly counter?: TokenCounter;
}

export type Operation = "chat" | "completions" | "embeddings" | "moderations" | "speech" | "transcriptions" | "translations";

export interface TokenCounter {
  countMessages(messages: readonly ChatMessage[]): number;
  countText(text: string): number;
}

/** How an upstream cuts its stream into events. */
export type Framing = "sse" | "ndjson" | "aws-event-stream";

/** Text generation by turns. */
export interface ChatAdapter {
  /** OpenAI's names of the parameters that a model of this provider understands. */
  supportedParams(inferenceModelId: string): readonly string[];
  readonly framing: Framing;
  buildRequest(call: ChatCall, target: ProviderTarget): UpstreamRequest;
  /** A whole JSON answer. Throws UPSTREAM_UNAVAILABLE when it is not what the provider promised. */
  readAnswer(body: unknown, call: ChatCall): ChatAnswer;
  /** Events of a stream as our parts, in order. A `usage` part, when there is one, is the last word on usage. */
  readStream(events: AsyncIterable<UpstreamEvent>, call: ChatCall): AsyncIterable<StreamPart>;
}

/** Legacy text completion. Where a provider has none, it is made out of chat, outside. */
export interface CompletionsAdapter {
  supportedParams(inferenceModelId: string): readonly string[];
  buildRequest(call: CompletionsCall, target: ProviderTarget): UpstreamRequest;
  readAnswer(body: unknown): CompletionsAnswer;
  readStream(events: AsyncIterable<UpstreamEvent>): AsyncIterable<StreamPart>;
}

export interface EmbeddingsAdapter {
  supportedParams(inferenceModelId: string): readonly string[];
  /** False: token arrays are turned into text before they come here. */
  readonly takesTokens: boolean;
  buildRequest(call: EmbeddingsCall, target: ProviderTarget): UpstreamRequest;
  /** Vectors in the order of the input, as numbers, whatever the caller's encoding is. */
  readAnswer(body: unknown): EmbeddingsAnswer;
}

export interface ModerationsAdapter {
  buildRequest(call: { readonly body: Fields }, target: ProviderTarget): UpstreamRequest;
  /** OpenAI's moderation object: id, results. */
  readAnswer(body: unknown): Fields;
}

/** Text to sound: the answer's bytes are the sound. */
export interface SpeechAdapter {
  buildRequest(call: { readonly body: Fields }, target: ProviderTarget): UpstreamRequest;
}

/** A form with a file in, text out; the form is streamed through, only its fields are known. */
export interface FormAdapter {
  buildRequest(call: FormCall, target: ProviderTarget): UpstreamRequest;
}

export type Fields = Readonly<Record<string, unknown>>;

/** An OpenAI chat body that passed validation; fields we do not know are kept, gateway fields are gone, nulls too. */
export interface ChatBody extends Fields {
  readonly messages: readonly ChatMessage[];
}

export interface ChatMessage extends Fields {
  readonly role: string;
  readonly content?: unknown;
}

export interface ChatCall {
  readonly body: ChatBody;
  readonly stream: boolean;
  /** The most tokens each choice may have; always sent, because the reservation was made for it. */
  readonly maxOutputTokens: number;
}

export interface CompletionsCall {
  readonly body: Fields;
  readonly stream: boolean;
  readonly maxOutputTokens: number;
}

export interface EmbeddingsCall {
  /** Always a list: of texts, or of token lists where the adapter takes them. */
  readonly input: readonly string[] | readonly (readonly number[])[];
  readonly dimensions: number | undefined;
  /** The caller's other fields: user, input_type, ... */
  readonly body: Fields;
}

export interface FormCall {
  /** Fields of the form but the file, in order, repeated names as they came. */
  readonly fields: readonly (readonly [name: string, value: string])[];
  readonly file: { readonly name: string; readonly contentType: string; readonly content: AsyncIterable<Uint8Array> };
}

/** What an adapter may know of a deployment. */
export interface ProviderTarget {
  /** The provider's own name of the model, without our prefix. */
  readonly inferenceModelId: string;
  readonly baseUrl?: string | undefined;
  readonly apiKey?: string | undefined;
  /** Everything else the operator set for it: api_version, organization, aws_region_name, vertex_project, extra_headers, ... */
  readonly params: Fields;
}

export interface UpstreamRequest {
  readonly method?: "POST" | "GET";
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Text, or a form that is written while it is read. */
  readonly body: string | AsyncIterable<Uint8Array>;
  /** What only the sender can do, because it needs the time or another service. */
  readonly signing?: Signing;
}

export type Signing =
  | {
      readonly type: "aws-sigv4";
      readonly region: string;
      readonly service: string;
      readonly accessKeyId: string;
      readonly secretAccessKey: string;
      readonly sessionToken?: string | undefined;
    }
  /** A Google service account (JSON) or the machine's own identity; the sender adds the bearer token. */
  | { readonly type: "google"; readonly credentials?: Fields | undefined };

export interface UpstreamResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Pulled, so that a slow client slows the upstream; ends or throws when the signal of its request is aborted. */
  readonly body: AsyncIterable<Uint8Array>;
}

export interface UpstreamFailure {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Parsed JSON, or the text when it is none. */
  readonly body: unknown;
}

/** One network call, or one call in this process; faked in tests. Rejects when no answer came. */
export type Send = (request: UpstreamRequest, signal: AbortSignal) => Promise<UpstreamResponse>;

export interface UpstreamEvent {
  readonly event: string | undefined;
  readonly data: string;
}

export interface ChatAnswer {
  readonly choices: readonly ChatChoice[];
  readonly usage: ReportedUsage | undefined;
  /** Fields of the whole answer that callers read, such as system_fingerprint or service_tier. */
  readonly extra?: Fields;
}

export interface ChatChoice {
  readonly index: number;
  /** As OpenAI writes it: content, refusal, tool_calls, reasoning_content, ... without the role. */
  readonly message: Fields;
  readonly finishReason: string;
  readonly logprobs: unknown;
}

export interface CompletionsAnswer {
  readonly choices: readonly { readonly index: number; readonly text: string; readonly finishReason: string; readonly logprobs: unknown }[];
  readonly usage: ReportedUsage | undefined;
}

export interface EmbeddingsAnswer {
  readonly vectors: readonly (readonly number[])[];
  readonly usage: ReportedUsage | undefined;
}

export type StreamPart =
  | { readonly type: "text-delta"; readonly choice: number; readonly text: string; readonly logprobs?: unknown }
  /** Any other delta fields in OpenAI's words (tool_calls, refusal, reasoning_content, ...); `text` is what counts as output in them. */
  | { readonly type: "other-delta"; readonly choice: number; readonly fields: Fields; readonly text: string }
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
