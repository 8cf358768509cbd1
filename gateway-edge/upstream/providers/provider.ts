import type { CancelSignal } from "../../../common/cancel.ts";
import type { AppError } from "../../../common/errors.ts";
import type { AmountName } from "../../../common/pricing.ts";
import type { ProviderOperation } from "../../../common/providers/shared/provider-kind.ts";

/**
 * The whole contract of a provider adapter. Adapters are pure: they turn a call into a request and bytes into parts. The network, signing,
 * timeouts, aborts, retries, fallbacks and metering exist once, outside of adapters.
 */
export interface Provider {
  /** Equals the provider kind of a deployment in the catalog. */
  readonly kind: string;
  /** The operations of the provider; a call of an absent operation is refused before anything is reserved. */
  readonly chat?: ChatAdapter;
  readonly responses?: ResponsesAdapter;
  readonly messages?: ProxiedAdapter;
  readonly completions?: CompletionsAdapter;
  readonly embeddings?: EmbeddingsAdapter;
  readonly moderations?: ModerationsAdapter;
  readonly speech?: SpeechAdapter;
  readonly transcriptions?: FormAdapter;
  readonly translations?: FormAdapter;
  readonly images?: ImagesAdapter;
  readonly imageEdits?: FormAdapter;
  readonly rerank?: RerankAdapter;
  readonly realtime?: RealtimeAdapter;
  /** An upstream's error as an AppError. Its own 401 or 403 is the operator's fault, never the caller's. */
  readError(failure: UpstreamFailure): AppError;
  /** Counts tokens where the provider's own counter is known; absent: the gateway's tokenizer counts. */
  readonly counter?: TokenCounter;
  /** The provider's own counting endpoint, if it has one: exact, free of charge, and a network request. */
  readonly remoteCount?: RemoteCount;
}

/** The operations that a provider can have. */
export type Operation = ProviderOperation | "responses";

/** A counter of tokens without network access. */
export interface TokenCounter {
  countMessages(messages: readonly ChatMessage[]): number;
  countText(text: string): number;
}

/** A provider's endpoint that counts the tokens of a chat. */
export interface RemoteCount {
  /** LiteLLM's name of the tokenizer. */
  readonly tokenizer: string;
  /** Whether Google's `contents` can be counted unchanged. */
  readonly takesContents: boolean;
  buildRequest(call: CountCall, target: ProviderTarget): UpstreamRequest;
  /** Throws UPSTREAM_UNAVAILABLE when the answer has no count. */
  readAnswer(body: unknown): number;
}

/** The chat to count. */
export interface CountCall extends ChatCall {
  /** Replaces the body's messages. */
  readonly contents?: readonly Fields[] | undefined;
  /** Replaces the whole body: the request in the provider's own API. */
  readonly proxied?: Pick<ProxiedCall, "body" | "betas"> | undefined;
}

/** How an upstream splits its stream into events. */
export type Framing = "sse" | "ndjson" | "aws-event-stream";

/** Text generation by turns. */
export interface ChatAdapter {
  /** OpenAI's names of the parameters that a model of this provider supports. */
  supportedParams(inferenceModelId: string): readonly string[];
  readonly framing: Framing;
  /** Whether a model takes what Chat Completions does not have: cache_control, thinking_blocks, is_error, the provider's own fields and tools. */
  takesBlocks?(inferenceModelId: string): boolean;
  /** Whether its requests have documents by URL, in place of `file_id`: the adapter sends or refuses them itself. */
  readonly readsDocumentUrls?: true;
  buildRequest(call: ChatCall, target: ProviderTarget): UpstreamRequest;
  /** A whole JSON answer. Throws UPSTREAM_UNAVAILABLE when it is not in the provider's format. */
  readAnswer(body: unknown, call: ChatCall): ChatAnswer;
  /** Events of a stream as parts, in order. The last `usage` part, if any, is the usage. */
  readStream(events: AsyncIterable<UpstreamEvent>, call: ChatCall): AsyncIterable<StreamPart>;
}

/** An API of the provider in the caller's own dialect: request and answer pass unchanged, metered beside. */
export interface ProxiedAdapter {
  /** Whether this deployment's server has it. */
  isSpokenBy(target: ProviderTarget): boolean;
  readonly framing: Framing;
  buildRequest(call: ProxiedCall, target: ProviderTarget): UpstreamRequest;
  /** The answer as the provider wrote it. Throws the provider's error for a failed one. */
  readAnswer(body: unknown): { readonly proxied: Fields; readonly usage: ReportedUsage | undefined; readonly text: string };
  /** Parts that hold the provider's own events. */
  readStream(events: AsyncIterable<UpstreamEvent>): AsyncIterable<StreamPart>;
}

/** OpenAI's Responses API, for servers that have it. */
export interface ResponsesAdapter extends ProxiedAdapter {
  /** Whether its model reasons and returns encrypted reasoning on request. */
  reasons(target: ProviderTarget): boolean;
}

/** A request for a server that has the API of the caller. */
export interface ProxiedCall {
  readonly body: Fields;
  readonly stream: boolean;
  readonly maxOutputTokens: number;
  /** Anthropic's betas that the caller enabled. */
  readonly betas?: readonly string[];
}

/** Legacy text completion. For a provider without it, the job uses chat. */
export interface CompletionsAdapter {
  supportedParams(inferenceModelId: string): readonly string[];
  buildRequest(call: CompletionsCall, target: ProviderTarget): UpstreamRequest;
  readAnswer(body: unknown): CompletionsAnswer;
  readStream(events: AsyncIterable<UpstreamEvent>): AsyncIterable<StreamPart>;
}

/** Texts or tokens to vectors. */
export interface EmbeddingsAdapter {
  supportedParams(inferenceModelId: string): readonly string[];
  /** False: token arrays are decoded to text before they reach the adapter. */
  readonly takesTokens: boolean;
  /** How many inputs one request takes; more are split into several requests. Absent: as many as a caller may send. */
  batchMax?(inferenceModelId: string): number;
  buildRequest(call: EmbeddingsCall, target: ProviderTarget): UpstreamRequest;
  /** Vectors in the order of the input, as numbers, whatever the caller's encoding is. */
  readAnswer(body: unknown): EmbeddingsAnswer;
}

/** Classifies texts by harmful content. */
export interface ModerationsAdapter {
  buildRequest(call: { readonly body: Fields }, target: ProviderTarget): UpstreamRequest;
  /** OpenAI's moderation object: id, results. */
  readAnswer(body: unknown): Fields;
}

/** Text to speech: the answer's bytes are the audio. */
export interface SpeechAdapter {
  buildRequest(call: { readonly body: Fields }, target: ProviderTarget): UpstreamRequest;
}

/** A form with files; the form is streamed through, only its fields are known. The answer is in OpenAI's format. */
export interface FormAdapter {
  buildRequest(call: FormCall, target: ProviderTarget): UpstreamRequest;
}

/** Text to images. */
export interface ImagesAdapter {
  /** Whether `stream` gives OpenAI's image events. */
  readonly streams: boolean;
  buildRequest(call: { readonly body: Fields }, target: ProviderTarget): UpstreamRequest;
  /** OpenAI's image object: data, and other fields of the provider. */
  readAnswer(body: unknown): { readonly answer: Fields; readonly usage: ReportedUsage | undefined };
}

/** Ranks documents by how well they answer a query. */
export interface RerankAdapter {
  buildRequest(call: RerankCall, target: ProviderTarget): UpstreamRequest;
  /** Results in any order, each with its position in the call's documents. */
  readAnswer(body: unknown): RerankAnswer;
}

/** A session over a WebSocket, with the events of OpenAI's Realtime API. */
export interface RealtimeAdapter {
  /** Where the session of a deployment is opened, as an http or https address. */
  locate(target: ProviderTarget): { readonly url: string; readonly headers: Readonly<Record<string, string>> };
}

/** A JSON object whose fields are not validated. */
export type Fields = Readonly<Record<string, unknown>>;

/** An OpenAI chat body that passed validation; unknown fields are included, gateway fields and nulls are removed. */
export interface ChatBody extends Fields {
  readonly messages: readonly ChatMessage[];
}

/** One message of a chat, in OpenAI's format. */
export interface ChatMessage extends Fields {
  readonly role: string;
  readonly content?: unknown;
}

/** A chat for one attempt. */
export interface ChatCall {
  readonly body: ChatBody;
  readonly stream: boolean;
  /** The most tokens each choice may have; always sent, because the reservation covers exactly that. */
  readonly maxOutputTokens: number;
}

/** A legacy text completion for one attempt. */
export interface CompletionsCall {
  readonly body: Fields;
  readonly stream: boolean;
  readonly maxOutputTokens: number;
}

/** Inputs to embed in one request. */
export interface EmbeddingsCall {
  /** Always a list: of texts, or of token lists where the adapter takes them. */
  readonly input: readonly string[] | readonly (readonly number[])[];
  readonly dimensions: number | undefined;
  /** The caller's other fields: user, input_type, ... */
  readonly body: Fields;
}

/** A form field that is not a file. */
export type FormField = readonly [name: string, value: string];

/** An uploaded file of a form, read as a stream. */
export interface FormFile {
  /** The name of the form field. */
  readonly field: string;
  readonly name: string;
  readonly contentType: string;
  /** Undefined while the file is still arriving. */
  readonly size: number | undefined;
  /** Every iteration starts at the first byte. */
  readonly content: AsyncIterable<Uint8Array>;
}

/** A form for one attempt. */
export interface FormCall {
  /** Fields of the form without the files, in order, including repeated names. */
  readonly fields: readonly FormField[];
  readonly files: readonly FormFile[];
  /** The fields after the files, when the whole form has arrived; absent when there are none to wait for. */
  readonly laterFields?: () => Promise<readonly FormField[]>;
}

/** A query and the documents to rank. */
export interface RerankCall {
  readonly query: string;
  readonly documents: readonly string[];
  readonly topN: number | undefined;
  /** The caller's other fields: max_tokens_per_doc, ... */
  readonly body: Fields;
}

/** The ranked documents and their usage. */
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
  /** All other parameters of the operator: api_version, organization, aws_region_name, vertex_project, extra_headers, ... */
  readonly params: Fields;
  /** The operator's facts about the model: LiteLLM's model_info. */
  readonly info?: Fields;
  readonly tls?: UpstreamTls | undefined;
  /** The address is that of the client who makes the call, not the operator's. */
  readonly isClientAddress?: true | undefined;
}

/** What TLS connections to a deployment use beside the defaults, as PEM. */
export interface UpstreamTls {
  /** Equal contents have equal ids. */
  readonly id: string;
  /** Replaces the authorities that the gateway trusts otherwise. */
  readonly ca: string | undefined;
  /** The certificate of the gateway and its key, for servers that ask for one. */
  readonly cert: string | undefined;
  readonly key: string | undefined;
}

/** An HTTP request as an adapter builds it. */
export interface UpstreamRequest {
  /** Absent: POST. */
  readonly method?: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Text, bytes, or a form that is sent while it is read. */
  readonly body: string | Uint8Array | AsyncIterable<Uint8Array>;
  /** The size of a form, if it is known before the form is sent. Absent: the form is sent in chunks. */
  readonly bodyBytes?: number | undefined;
  /** How the sender signs the request, because that needs the time or another service. */
  readonly signing?: Signing;
  /** Added by `toTarget`. Absent: the defaults. */
  readonly tls?: UpstreamTls | undefined;
  /** Added by `toTarget`: it is sent by the rule for addresses of tenants, on connections that no other upstream shares. */
  readonly isClientAddress?: true | undefined;
}

/** How the sender signs a request. */
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

/** The head of an upstream's answer, and its body as a stream. */
export interface UpstreamResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Pulled, so that a slow client slows the upstream down; ends or throws when the request's signal is aborted. */
  readonly body: UpstreamBody;
}

/** The bytes of an answer. */
export interface UpstreamBody extends AsyncIterable<Uint8Array> {
  /**
   * The whole body in one piece if it has arrived completely; replaces the iteration and may be called once. Undefined: it has not arrived
   * yet.
   */
  arrived?(): Uint8Array | undefined;
}

/** An upstream's error response. */
export interface UpstreamFailure {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Parsed JSON, or the text when it is not JSON. */
  readonly body: unknown;
}

/** The ids by which an upstream can find a call: its headers `x-request-id` and `traceparent`, unless the request has its own. */
export interface CallIds {
  readonly requestId?: string | undefined;
  readonly traceparent?: string | undefined;
}

/** Notified while a call waits for a free connection of the pool. That time is the gateway's, not the upstream's. */
export interface ConnectionWait extends CallIds {
  queued(): void;
  /** The call has its connection: the upstream's time starts. */
  started(): void;
}

/** One network request, or one call in this process; faked in tests. Rejects when no answer arrives. */
export type Send = (request: UpstreamRequest, signal: CancelSignal, wait?: ConnectionWait) => Promise<UpstreamResponse>;

/** One event of an upstream's stream. */
export interface UpstreamEvent {
  readonly event: string | undefined;
  readonly data: string;
}

/** A whole chat answer in OpenAI's format. */
export interface ChatAnswer {
  readonly choices: readonly ChatChoice[];
  readonly usage: ReportedUsage | undefined;
  /** Fields of the whole answer that callers read, such as system_fingerprint or service_tier. */
  readonly extra?: Fields;
}

/** One choice of a chat answer. */
export interface ChatChoice {
  readonly index: number;
  /** In OpenAI's format: content, refusal, tool_calls, reasoning_content, ... without the role. */
  readonly message: Fields;
  readonly finishReason: string;
  readonly logprobs: unknown;
}

/** A whole text completion. */
export interface CompletionsAnswer {
  readonly choices: readonly { readonly index: number; readonly text: string; readonly finishReason: string; readonly logprobs: unknown }[];
  readonly usage: ReportedUsage | undefined;
}

/** Vectors in the order of the input. */
export interface EmbeddingsAnswer {
  readonly vectors: readonly (readonly number[])[];
  readonly usage: ReportedUsage | undefined;
}

/** One part of a stream, whatever the provider. */
export type StreamPart =
  | { readonly type: "text-delta"; readonly choice: number; readonly text: string; readonly logprobs?: unknown }
  /**
   * Other delta fields in OpenAI's format (tool_calls, refusal, reasoning_content, ...); `text` is their output for counting. `fees`: what
   * the stream has shown so far that is billed beside tokens; it counts if the stream ends before its usage. Absent: as before.
   */
  | { readonly type: "other-delta"; readonly choice: number; readonly fields: Fields; readonly text: string; readonly fees?: Amounts }
  | {
      readonly type: "finish";
      readonly choice: number;
      readonly reason: string;
      /** Set when the gateway itself ended the stream. */
      readonly cause?: "credits_used_up";
    }
  | { readonly type: "usage"; readonly usage: ReportedUsage };

/** Bytes of the answer as the client gets them: audio, or whole OpenAI events. `text` is their output for counting. */
export interface BytesPart {
  readonly type: "bytes";
  readonly bytes: Uint8Array;
  readonly text?: string;
}

/** What is counted beside tokens: units of prices, and what providers bill beside tokens; a price is for 1,000,000 of them. */
export type MeasuredUnit = Exclude<AmountName, "call">;

/** Input and output in one unit. */
export interface Amount {
  readonly input: number;
  readonly output: number;
}

/** Usage in units other than tokens. */
export type Amounts = Readonly<Partial<Record<MeasuredUnit, Amount>>>;

/**
 * Usage as OpenAI reports it: prompt includes cached and audio, completion includes reasoning and audio. credit/pricing/usage.ts splits it
 * into disjoint classes.
 */
export interface ReportedUsage {
  readonly promptTokens: number;
  readonly cachedTokens: number;
  readonly cacheWriteTokens: number;
  /** Of `cacheWriteTokens`: those that are stored for an hour. */
  readonly cacheWriteHourTokens?: number;
  readonly completionTokens: number;
  readonly reasoningTokens: number;
  readonly audioPromptTokens?: number;
  readonly audioCompletionTokens?: number;
  readonly imagePromptTokens?: number;
  readonly imageCompletionTokens?: number;
  /** The provider reports the output only: the gateway counts the prompt. */
  readonly lacksPrompt?: true;
  /** How often the model was sampled, if not once: the output limit holds for each time. */
  readonly samplings?: number;
  /** Usage that the provider reports in other units than tokens. */
  readonly amounts?: Amounts;
  /** The size and quality of its images, as prices name them. */
  readonly image?: string | undefined;
}
