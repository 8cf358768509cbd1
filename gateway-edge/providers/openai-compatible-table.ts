import type { LimitField } from "./openai-compatible.ts";
import { LIMITS } from "./openai-compatible-families.ts";
import type { Quirk } from "./openai-compatible-quirks.ts";
import type { Fields, Operation } from "./provider.ts";

/** One server that speaks OpenAI's wire. Everything about it is here; a new one is a new row. */
export interface CompatibleRow {
  readonly kind: string;
  /** Other names of it in configuration files. */
  readonly aliases: readonly string[];
  /** Undefined: a deployment must say its own. */
  readonly baseUrl: string | undefined;
  /** Where a configuration finds its key when it names none. */
  readonly keyVariable: string | undefined;
  readonly operations: readonly Operation[];
  /** The first that fits the model counts. */
  readonly params: readonly { readonly models: RegExp; readonly names: string }[];
  /** Its name of the limit on output. */
  readonly limitField: LimitField;
  /** Fields that every chat of it carries. */
  readonly always?: Fields;
  readonly quirks?: readonly Quirk[];
}

const BASIC = `${LIMITS} stream stream_options temperature top_p stop user`;
const PENALTIES = "frequency_penalty presence_penalty";
const TOOLS = "tools tool_choice response_format";
const LOGPROBS = "logprobs top_logprobs";
const ALL = `${BASIC} ${PENALTIES} ${TOOLS} ${LOGPROBS} parallel_tool_calls functions function_call logit_bias n seed reasoning_effort`;
const SELF_HOSTED = `${ALL} top_k min_p repetition_penalty min_tokens stop_token_ids guided_json structured_outputs chat_template_kwargs`;
const forAnyModel = (names: string) => [{ models: /.*/, names }];

export const COMPATIBLE_ROWS: readonly CompatibleRow[] = [
  {
    kind: "groq",
    aliases: [],
    baseUrl: "https://api.groq.com/openai/v1",
    keyVariable: "GROQ_API_KEY",
    operations: ["chat", "speech", "transcriptions", "translations"],
    params: forAnyModel(
      `${BASIC} ${PENALTIES} ${TOOLS} parallel_tool_calls functions function_call seed reasoning_effort reasoning_format service_tier`,
    ),
    limitField: "max_completion_tokens",
    quirks: ["no-message-names"],
  },
  {
    kind: "deepseek",
    aliases: [],
    baseUrl: "https://api.deepseek.com/v1",
    keyVariable: "DEEPSEEK_API_KEY",
    operations: ["chat"],
    params: forAnyModel(`${BASIC} ${PENALTIES} ${TOOLS} ${LOGPROBS} reasoning_effort thinking`),
    limitField: "max_tokens",
    quirks: ["developer-as-system", "effort-as-thinking", "schema-as-instruction"],
  },
  {
    kind: "together",
    aliases: ["together_ai"],
    baseUrl: "https://api.together.xyz/v1",
    keyVariable: "TOGETHERAI_API_KEY",
    operations: ["chat", "completions", "embeddings", "speech", "transcriptions", "translations", "images", "rerank"],
    params: forAnyModel(`${BASIC} ${PENALTIES} ${TOOLS} logit_bias n seed reasoning_effort top_k min_p repetition_penalty`),
    limitField: "max_tokens",
    quirks: ["developer-as-system"],
  },
  {
    kind: "fireworks",
    aliases: ["fireworks_ai"],
    baseUrl: "https://api.fireworks.ai/inference/v1",
    keyVariable: "FIREWORKS_API_KEY",
    operations: ["chat", "completions", "embeddings", "rerank"],
    params: forAnyModel(`${BASIC} ${PENALTIES} ${TOOLS} ${LOGPROBS} logit_bias n seed reasoning_effort top_k min_p repetition_penalty`),
    limitField: "max_tokens",
    // By itself it cuts a prompt that is too long, and says nothing.
    always: { context_length_exceeded_behavior: "error" },
    quirks: ["developer-as-system"],
  },
  {
    kind: "openrouter",
    aliases: [],
    baseUrl: "https://openrouter.ai/api/v1",
    keyVariable: "OPENROUTER_API_KEY",
    operations: ["chat", "completions", "embeddings"],
    params: forAnyModel(`${ALL} reasoning provider models transforms route plugins top_k top_a min_p repetition_penalty verbosity`),
    limitField: "max_tokens",
  },
  {
    kind: "xai",
    aliases: ["x_ai"],
    baseUrl: "https://api.x.ai/v1",
    keyVariable: "XAI_API_KEY",
    operations: ["chat", "images"],
    params: [
      {
        models: /^grok-3-mini/,
        names: `${LIMITS} stream stream_options temperature top_p user ${TOOLS} ${LOGPROBS} n seed parallel_tool_calls reasoning_effort search_parameters`,
      },
      {
        models: /^grok-([4-9]|code)/,
        names: `${LIMITS} stream stream_options temperature top_p user ${TOOLS} ${LOGPROBS} n seed parallel_tool_calls search_parameters`,
      },
      { models: /.*/, names: `${BASIC} ${PENALTIES} ${TOOLS} ${LOGPROBS} n seed parallel_tool_calls search_parameters` },
    ],
    limitField: "max_tokens",
    quirks: ["no-empty-names"],
  },
  {
    kind: "perplexity",
    aliases: [],
    baseUrl: "https://api.perplexity.ai",
    keyVariable: "PERPLEXITYAI_API_KEY",
    operations: ["chat"],
    params: forAnyModel(
      `${LIMITS} stream stream_options temperature top_p ${PENALTIES} response_format top_k reasoning_effort web_search_options search_mode search_domain_filter search_recency_filter return_images return_related_questions`,
    ),
    limitField: "max_tokens",
    quirks: ["developer-as-system"],
  },
  {
    kind: "vllm",
    aliases: ["hosted_vllm"],
    baseUrl: undefined,
    keyVariable: "HOSTED_VLLM_API_KEY",
    operations: ["chat", "completions", "embeddings", "transcriptions", "translations", "rerank"],
    params: forAnyModel(SELF_HOSTED),
    limitField: "max_tokens",
  },
  {
    kind: "lm_studio",
    aliases: ["lmstudio"],
    baseUrl: "http://localhost:1234/v1",
    keyVariable: "LM_STUDIO_API_KEY",
    operations: ["chat", "completions", "embeddings"],
    params: forAnyModel(`${BASIC} ${PENALTIES} ${TOOLS} logit_bias seed top_k repetition_penalty`),
    limitField: "max_tokens",
    quirks: ["developer-as-system"],
  },
  {
    kind: "llamafile",
    aliases: [],
    baseUrl: "http://localhost:8080/v1",
    keyVariable: "LLAMAFILE_API_KEY",
    operations: ["chat", "completions", "embeddings"],
    params: forAnyModel(`${BASIC} ${PENALTIES} ${TOOLS} logit_bias seed top_k min_p`),
    limitField: "max_tokens",
    quirks: ["developer-as-system"],
  },
  {
    kind: "nvidia",
    aliases: ["nvidia_nim"],
    baseUrl: "https://integrate.api.nvidia.com/v1",
    keyVariable: "NVIDIA_NIM_API_KEY",
    operations: ["chat", "completions", "embeddings"],
    params: forAnyModel(`${BASIC} ${PENALTIES} ${TOOLS} seed parallel_tool_calls reasoning_effort chat_template_kwargs`),
    limitField: "max_tokens",
    quirks: ["developer-as-system"],
  },
  {
    kind: "cerebras",
    aliases: [],
    baseUrl: "https://api.cerebras.ai/v1",
    keyVariable: "CEREBRAS_API_KEY",
    operations: ["chat", "completions"],
    params: forAnyModel(`${BASIC} ${TOOLS} ${LOGPROBS} seed parallel_tool_calls reasoning_effort`),
    limitField: "max_completion_tokens",
    quirks: ["developer-as-system"],
  },
  {
    kind: "openai_compatible",
    aliases: ["openai_like", "custom_openai"],
    baseUrl: undefined,
    keyVariable: "OPENAI_LIKE_API_KEY",
    operations: [
      "chat",
      "completions",
      "embeddings",
      "moderations",
      "speech",
      "transcriptions",
      "translations",
      "images",
      "imageEdits",
      "rerank",
    ],
    params: forAnyModel(SELF_HOSTED),
    limitField: "max_tokens",
  },
];
