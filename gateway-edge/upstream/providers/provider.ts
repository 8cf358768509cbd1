import type { AppError } from "../../../common/errors.ts";

/**
 * The whole contract of a provider adapter. Adapters are pure: they turn our call into a request and bytes into our parts. The
 * network call, signing, time-outs, aborts, retries, fallbacks and metering exist once, outside, in inference/.
 */
export interface Provider {
  /** Equals the provider kind of a deployment in the catalog. */
  readonly kind: string;
  /** What it can do; an operation that is absent is refused before anything is reserved. */
  readonly chat?: ChatAdapter;
  readonly responses?: ResponsesAdapter;
  readonly completions?: CompletionsAdapter;
  readonly embeddings?: EmbeddingsAdapter;
  readonly moderations?: ModerationsAdapter;
  readonly speech?: SpeechAdapter;
  readonly transcriptions?: FormAdapter;
  readonly translations?: FormAdapter;
  readonly images?: ImagesAdapter;
  readonly imageEdits?: FormAdapter;
  readonly rerank?: RerankAdapter;
  /** An upstream's refusal as our error. Its own 401 or 403 is our fault, never the caller's. */
  readError(failure: UpstreamFailure): AppError;
  /** Counts tokens where the provider's own way is known here; absent: counted by our tokenizer. */
  readonly counter?: TokenCounter;
  /** The provider's own counting endpoint, where it has one: exact, free of charge, and a network call. */
  readonly remoteCount?: RemoteCount;
}

export type Operation =
  | "chat"
  | "responses"
  | "completions"
  | "embeddings"
  | "moderations"
  | "speech"
  | "transcriptions"
  | "translations"
  | "images"
  | "imageEdits"
  | "rerank";

export interface TokenCounter {
  countMessages(messages: readonly ChatMessage[]): number;
  countText(text: string): number;
}

export interface RemoteCount {
  /** Who counted, in LiteLLM's words. */
  readonly tokenizer: string;
  /** Whether Google's `contents` can be counted as they are. */
  readonly takesContents: boolean;
  buildRequest(call: CountCall, target: ProviderTarget): UpstreamRequest;
  /** Throws UPSTREAM_UNAVAILABLE when there is no count in it. */
  readAnswer(body: unknown): number;
}

/** The chat that is to be counted. */
export interface CountCall extends ChatCall {
  /** In place of the body's messages. */
  readonly contents?: readonly Fields[] | undefined;
}

/** How an upstream cuts its stream into events. */
export type Framing = "sse" | "ndjson" | "aws-event-stream";

/** Text generation by turns. */
export interface ChatAdapter {
  /** OpenAI's names of the parameters that a model of this provider understands. */
  supportedParams(inferenceModelId: string): readonly string[];
  readonly framing: Framing;
  /** Whether a model takes what OpenAI's chat has no words for: cache_control, thinking_blocks, is_error, fields and tools of its own. */
  takesBlocks?(inferenceModelId: string): boolean;
  buildRequest(call: ChatCall, target: ProviderTarget): UpstreamRequest;
  /** A whole JSON answer. Throws UPSTREAM_UNAVAILABLE when it is not what the provider promised. */
  readAnswer(body: unknown, call: ChatCall): ChatAnswer;
  /** Events of a stream as our parts, in order. A `usage` part, when there is one, is the last word on usage. */
  readStream(events: AsyncIterable<UpstreamEvent>, call: ChatCall): AsyncIterable<StreamPart>;
}

/** OpenAI's Responses API, at servers that have it: a request goes on as it came. */
export interface ResponsesAdapter {
  /** Whether this deployment's server speaks it. */
  isSpokenBy(target: ProviderTarget): boolean;
  /** Whether its model thinks, and gives its thoughts sealed to who asks for them. */
  reasons(target: ProviderTarget): boolean;
  buildRequest(call: ResponsesCall, target: ProviderTarget): UpstreamRequest;
  /** The response as the provider wrote it. Throws the provider's error for one that failed. */
  readAnswer(body: unknown): { readonly response: Fields; readonly usage: ReportedUsage | undefined; readonly text: string };
  /** Parts that carry the provider's own events. */
  readStream(events: AsyncIterable<UpstreamEvent>): AsyncIterable<StreamPart>;
}

export interface ResponsesCall {
  readonly body: Fields;
  readonly stream: boolean;
  readonly maxOutputTokens: number;
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
  /** How many inputs one request takes; more are asked for in several. Absent: as many as a caller may send. */
  batchMax?(inferenceModelId: string): number;
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

/** A form with files in; the form is streamed through, only its fields are known. The answer is in OpenAI's words. */
export interface FormAdapter {
  buildRequest(call: FormCall, target: ProviderTarget): UpstreamRequest;
}

/** Text to pictures. */
export interface ImagesAdapter {
  /** Whether `stream` gives OpenAI's image events. */
  readonly streams: boolean;
  buildRequest(call: { readonly body: Fields }, target: ProviderTarget): UpstreamRequest;
  /** OpenAI's object of images: data, and what else the provider says of them. */
  readAnswer(body: unknown): { readonly answer: Fields; readonly usage: ReportedUsage | undefined };
}

/** Documents by how well they answer a question. */
export interface RerankAdapter {
  buildRequest(call: RerankCall, target: ProviderTarget): UpstreamRequest;
  /** Results in any order, each with its position in the call's documents. */
  readAnswer(body: unknown): RerankAnswer;
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

export type FormField = readonly [name: string, value: string];

export interface FormFile {
  /** The name of its field. */
  readonly field: string;
  readonly name: string;
  readonly contentType: string;
  /** Undefined while it is still coming in. */
  readonly size: number | undefined;
  /** Every iteration starts at the first byte. */
  readonly content: AsyncIterable<Uint8Array>;
}

export interface FormCall {
  /** Fields of the form but the files, in order, repeated names as they came. */
  readonly fields: readonly FormField[];
  readonly files: readonly FormFile[];
  /** The fields that come after the files, once the whole form is in; absent when there are none to wait for. */
  readonly laterFields?: () => Promise<readonly FormField[]>;
}

export interface RerankCall {
  readonly query: string;
  readonly documents: readonly string[];
  readonly topN: number | undefined;
  /** The caller's other fields: max_tokens_per_doc, ... */
  readonly body: Fields;
}

export interface RerankAnswer {
  readonly id: string | undefined;
  readonly results: readonly { readonly index: number; readonly score: number }[];
  readonly usage: ReportedUsage | undefined;
}

/** What an adapter may know of a deployment. */
export interface ProviderTarget {
  /** The provider's own name of the model, without our prefix. */
  readonly inferenceModelId: string;
  readonly baseUrl?: string | undefined;
  readonly apiKey?: string | undefined;
  /** Everything else the operator set for it: api_version, organization, aws_region_name, vertex_project, extra_headers, ... */
  readonly params: Fields;
  /** What the operator says about the model: LiteLLM's model_info. */
  readonly info?: Fields;
}

export interface UpstreamRequest {
  /** Absent: POST. */
  readonly method?: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Text, or a form that is written while it is read. */
  readonly body: string | Uint8Array | AsyncIterable<Uint8Array>;
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
  readonly body: UpstreamBody;
}

export interface UpstreamBody extends AsyncIterable<Uint8Array> {
  /** All of it as one piece where nothing more will come, once, in place of the iteration; undefined: it has to be waited for. */
  arrived?(): Uint8Array | undefined;
}

export interface UpstreamFailure {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Parsed JSON, or the text when it is none. */
  readonly body: unknown;
}

/** Hears that a call waits until one of the gateway's connections to its upstream is free. That time is ours, not the upstream's. */
export interface ConnectionWait {
  queued(): void;
  /** It has its connection: from here on the upstream is asked. */
  started(): void;
}

/** One network call, or one call in this process; faked in tests. Rejects when no answer came. */
export type Send = (request: UpstreamRequest, signal: AbortSignal, wait?: ConnectionWait) => Promise<UpstreamResponse>;

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
  | {
      readonly type: "finish";
      readonly choice: number;
      readonly reason: string;
      /** Set by the gateway where it ended the stream itself. */
      readonly cause?: "credits_used_up";
    }
  | { readonly type: "usage"; readonly usage: ReportedUsage };

/** Bytes of the answer as the client gets them: sound, or whole events in OpenAI's words. `text` is what counts as output in them. */
export interface BytesPart {
  readonly type: "bytes";
  readonly bytes: Uint8Array;
  readonly text?: string;
}

/** What is priced by other units than tokens; a price is for 1,000,000 of them. */
export type MeasuredUnit = "character" | "millisecond" | "image" | "search";

/** How much went in and came out, in one unit. */
export interface Amount {
  readonly input: number;
  readonly output: number;
}

export type Amounts = Readonly<Partial<Record<MeasuredUnit, Amount>>>;

/**
 * Usage as OpenAI reports it: prompt includes cached and audio, completion includes reasoning and audio. inference/usage.ts takes it
 * apart.
 */
export interface ReportedUsage {
  readonly promptTokens: number;
  readonly cachedTokens: number;
  readonly cacheWriteTokens: number;
  readonly completionTokens: number;
  readonly reasoningTokens: number;
  readonly audioPromptTokens?: number;
  readonly audioCompletionTokens?: number;
  /** What the provider says in other units than tokens. */
  readonly amounts?: Amounts;
}
