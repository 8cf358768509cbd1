/** An operation that providers offer. Whether a server also speaks the Responses API is a fact of its deployment. */
export type ProviderOperation =
  | "chat"
  | "completions"
  | "embeddings"
  | "moderations"
  | "speech"
  | "transcriptions"
  | "translations"
  | "images"
  | "imageEdits"
  | "rerank"
  | "realtime";

export type LimitField = "max_tokens" | "max_completion_tokens";

/** Models that understand the same parameters. */
export interface ModelFamily {
  readonly models: RegExp;
  readonly params: readonly string[];
  /** The field of the limit on output; absent: the caller's. */
  readonly limitField?: LimitField;
}

/** OpenAI's names of the parameters that a model understands, by its provider's name of it. */
export type ParamsOf = (inferenceModelId: string) => readonly string[];

/** By family, of which the first that fits counts, or by a rule. */
export type Params = readonly ModelFamily[] | ParamsOf;

/** How the chat body of an OpenAI-compatible server differs from OpenAI's; the adapter says what each one does. */
export type Quirk = "developer-as-system" | "no-message-names" | "no-empty-names" | "effort-as-thinking" | "schema-as-instruction";

/** The one declaration of a provider kind: adapters, catalog, configuration, API, console and CLI read it. */
export interface ProviderKind {
  /** The name in the catalog and in the API. */
  readonly kind: string;
  /** The name that people see. */
  readonly displayName: string;
  /** LiteLLM's prefixes of `litellm_params.model`, which are also its names for `custom_llm_provider`; the first one is shown. */
  readonly prefixes: readonly [string, ...string[]];
  /** Model names that belong to this kind where no prefix says so. */
  readonly bareNames?: RegExp;
  /** Environment variables of parameters in LiteLLM's names, for deployments that do not set them; the first that is set counts. */
  readonly environment: Readonly<Record<string, readonly string[]>>;
  /** The address of deployments that set none; absent: it depends on their other parameters, or has to be given. */
  readonly baseUrl?: string;
  /** A deployment has to give its address. */
  readonly needsBaseUrl?: true;
  /** Usually runs on the operator's own machines: a private address is expected. */
  readonly isLocal?: true;
  /** Runs on the operator's own machines and nowhere else: its models cost nothing unless they are priced. */
  readonly isFree?: true;
  /** Why no client may call its models at another address or with a key of its own; absent: the operator may allow that. */
  readonly noClientParams?: string;
  /** Price lists of the data package, in the order in which they are asked. */
  readonly priceLists?: readonly string[];
  readonly operations: readonly [ProviderOperation, ...ProviderOperation[]];
  /** OpenAI's names of the parameters that its models take. Absent for embeddings: `dimensions` and `user`. */
  readonly params: { readonly chat: Params; readonly embeddings?: Params };
  /** The OpenAI-compatible adapter serves it: changes to a chat body, and fields that every chat carries. */
  readonly compatible?: { readonly quirks?: readonly Quirk[]; readonly always?: Readonly<Record<string, unknown>> };
  /** Its own API is offered under `/{kind}/*`, as is that of a compatible kind with an address. Absent fields: a bearer key, no headers. */
  readonly passThrough?: {
    readonly keyHeader?: string;
    /** Put before a path that names no version, where `baseUrl` does not end in one. */
    readonly version?: string;
    /** Headers that are sent where the client sends none of that name. */
    readonly headers?: Readonly<Record<string, string>>;
    /** Its streams report their usage without being asked, and it refuses the field that asks. */
    readonly streamsUsage?: true;
  };
}
