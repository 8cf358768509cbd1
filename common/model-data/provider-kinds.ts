/** What is known of a kind of provider before any adapter: how LiteLLM names it, where its key usually is, whose price list it follows. */
export interface ProviderKind {
  /** LiteLLM's prefixes of `litellm_params.model`, which are also its names for `custom_llm_provider`. */
  readonly prefixes: readonly string[];
  /** Environment variables that hold its API key where a deployment has none; the first that is set counts. */
  readonly keyVariables: readonly string[];
  /** The same for other parameters, in LiteLLM's names. */
  readonly parameterVariables: Readonly<Record<string, readonly string[]>>;
  /** There is no address that everybody uses: one has to be given. */
  readonly needsBaseUrl: boolean;
  /** Usually runs on the operator's own machines: an address there is what one expects. */
  readonly isLocal: boolean;
  /** Runs on the operator's own machines and nowhere else: its models cost nothing unless they are priced. */
  readonly isFree: boolean;
  /** Price lists of the data package, in the order in which they are asked. */
  readonly priceLists: readonly string[];
}

const BEDROCK_VARIABLES = {
  aws_access_key_id: ["AWS_ACCESS_KEY_ID"],
  aws_secret_access_key: ["AWS_SECRET_ACCESS_KEY"],
  aws_session_token: ["AWS_SESSION_TOKEN"],
  aws_region_name: ["AWS_REGION_NAME", "AWS_REGION", "AWS_DEFAULT_REGION"],
};
const VERTEX_VARIABLES = {
  vertex_project: ["VERTEXAI_PROJECT", "VERTEX_PROJECT", "GOOGLE_CLOUD_PROJECT"],
  vertex_location: ["VERTEXAI_LOCATION", "VERTEX_LOCATION"],
  vertex_credentials: ["GOOGLE_APPLICATION_CREDENTIALS"],
};
const AZURE_VARIABLES = { api_base: ["AZURE_API_BASE"], api_version: ["AZURE_API_VERSION"] };

/** Every kind of provider there is. A kind is here exactly when the edges have an adapter for it. */
export const PROVIDER_KINDS = {
  openai: kind(["openai", "text-completion-openai"], ["OPENAI_API_KEY"], {
    priceLists: ["openai"],
    parameterVariables: { api_base: ["OPENAI_API_BASE", "OPENAI_BASE_URL"] },
  }),
  azure: kind(["azure", "azure_text"], ["AZURE_API_KEY"], {
    priceLists: ["azure"],
    parameterVariables: AZURE_VARIABLES,
    needsBaseUrl: true,
  }),
  anthropic: kind(["anthropic", "anthropic_text"], ["ANTHROPIC_API_KEY"], { priceLists: ["anthropic"] }),
  gemini: kind(["gemini"], ["GEMINI_API_KEY", "GOOGLE_API_KEY"], { priceLists: ["google"] }),
  vertex_ai: kind(["vertex_ai", "vertex_ai_beta"], [], { priceLists: ["google", "anthropic"], parameterVariables: VERTEX_VARIABLES }),
  bedrock: kind(["bedrock", "bedrock_converse"], ["AWS_BEARER_TOKEN_BEDROCK"], {
    priceLists: ["aws"],
    parameterVariables: BEDROCK_VARIABLES,
  }),
  cohere: kind(["cohere", "cohere_chat"], ["COHERE_API_KEY", "CO_API_KEY"], { priceLists: ["cohere"] }),
  mistral: kind(["mistral"], ["MISTRAL_API_KEY"], { priceLists: ["mistral"] }),
  groq: kind(["groq"], ["GROQ_API_KEY"], { priceLists: ["groq"] }),
  deepseek: kind(["deepseek"], ["DEEPSEEK_API_KEY"], { priceLists: ["deepseek"] }),
  together: kind(["together_ai", "together"], ["TOGETHERAI_API_KEY", "TOGETHER_API_KEY", "TOGETHER_AI_API_KEY"], {
    priceLists: ["together"],
  }),
  fireworks: kind(["fireworks_ai", "fireworks"], ["FIREWORKS_API_KEY", "FIREWORKS_AI_API_KEY"], { priceLists: ["fireworks"] }),
  openrouter: kind(["openrouter"], ["OPENROUTER_API_KEY"], { priceLists: ["openrouter"] }),
  xai: kind(["xai"], ["XAI_API_KEY"], { priceLists: ["x-ai"] }),
  perplexity: kind(["perplexity"], ["PERPLEXITYAI_API_KEY", "PERPLEXITY_API_KEY"], { priceLists: ["perplexity"] }),
  ollama: kind(["ollama", "ollama_chat"], ["OLLAMA_API_KEY"], {
    isLocal: true,
    isFree: true,
    parameterVariables: { api_base: ["OLLAMA_API_BASE"] },
  }),
  vllm: kind(["hosted_vllm", "vllm"], ["HOSTED_VLLM_API_KEY"], {
    isLocal: true,
    isFree: true,
    needsBaseUrl: true,
    parameterVariables: { api_base: ["HOSTED_VLLM_API_BASE"] },
  }),
  lm_studio: kind(["lm_studio"], ["LM_STUDIO_API_KEY"], {
    isLocal: true,
    isFree: true,
    needsBaseUrl: true,
    parameterVariables: { api_base: ["LM_STUDIO_API_BASE"] },
  }),
  llamafile: kind(["llamafile"], ["LLAMAFILE_API_KEY"], {
    isLocal: true,
    isFree: true,
    parameterVariables: { api_base: ["LLAMAFILE_API_BASE"] },
  }),
  nvidia: kind(["nvidia_nim", "nvidia"], ["NVIDIA_NIM_API_KEY", "NVIDIA_API_KEY"], {
    parameterVariables: { api_base: ["NVIDIA_NIM_API_BASE"] },
  }),
  cerebras: kind(["cerebras"], ["CEREBRAS_API_KEY"], { priceLists: ["cerebras"] }),
  openai_compatible: kind(["openai_compatible", "openai_like", "custom_openai"], ["OPENAI_LIKE_API_KEY"], {
    isLocal: true,
    needsBaseUrl: true,
    parameterVariables: { api_base: ["OPENAI_LIKE_API_BASE"] },
  }),
  /** Our own trainer nodes, which answer for models that were trained here. */
  tributary: kind(["tributary"], ["TRAINER_TOKEN"], { isLocal: true, needsBaseUrl: true }),
  echo: kind(["echo"], [], {}),
} as const satisfies Record<string, ProviderKind>;

export type ProviderKindName = keyof typeof PROVIDER_KINDS;

export function isProviderKind(name: string): name is ProviderKindName {
  return Object.hasOwn(PROVIDER_KINDS, name);
}

const BY_PREFIX: ReadonlyMap<string, ProviderKindName> = new Map(
  Object.entries(PROVIDER_KINDS).flatMap(([name, { prefixes }]) => prefixes.map((prefix) => [prefix, name as ProviderKindName] as const)),
);

/** The kind that LiteLLM means by this prefix or `custom_llm_provider`; undefined when there is none here. */
export function kindOfPrefix(prefix: string): ProviderKindName | undefined {
  return BY_PREFIX.get(prefix.toLowerCase());
}

// Names that people write without a prefix. LiteLLM guesses from its list of models; a family is enough.
const FAMILIES: readonly (readonly [RegExp, ProviderKindName])[] = [
  [/^claude-/, "anthropic"],
  [/^gemini-/, "gemini"],
  [/^(command|embed-(english|multilingual)|rerank-)/, "cohere"],
  [/^(mistral|ministral|codestral|devstral|magistral|pixtral|open-mi)/, "mistral"],
  [/^deepseek-/, "deepseek"],
  [/^grok-/, "xai"],
  [/^sonar/, "perplexity"],
  [/^(anthropic|amazon|meta|cohere|mistral|ai21)\./, "bedrock"],
  [/^echo$/, "echo"],
];

/** The provider of a bare model name: by its family, else OpenAI. */
export function guessKind(model: string): ProviderKindName {
  return FAMILIES.find(([pattern]) => pattern.test(model))?.[1] ?? "openai";
}

function kind(prefixes: readonly string[], keyVariables: readonly string[], rest: Partial<ProviderKind>): ProviderKind {
  return { prefixes, keyVariables, parameterVariables: {}, needsBaseUrl: false, isLocal: false, isFree: false, priceLists: [], ...rest };
}
