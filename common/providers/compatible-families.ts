import { LIMITS, type LimitField, type ModelFamily } from "./openai-families.ts";

const BASIC = `${LIMITS} stream stream_options temperature top_p stop user`;
const PENALTIES = "frequency_penalty presence_penalty";
const TOOLS = "tools tool_choice response_format";
const LOGPROBS = "logprobs top_logprobs";
const ALL = `${BASIC} ${PENALTIES} ${TOOLS} ${LOGPROBS} parallel_tool_calls functions function_call logit_bias n seed reasoning_effort`;
const SELF_HOSTED = `${ALL} top_k min_p repetition_penalty min_tokens stop_token_ids guided_json structured_outputs chat_template_kwargs`;

/** What the models of each server that speaks OpenAI's wire understand, and its name of the limit on output. */
export const COMPATIBLE_FAMILIES = {
  groq: anyModel(
    "max_completion_tokens",
    `${BASIC} ${PENALTIES} ${TOOLS} parallel_tool_calls functions function_call seed reasoning_effort reasoning_format service_tier`,
  ),
  deepseek: anyModel("max_tokens", `${BASIC} ${PENALTIES} ${TOOLS} ${LOGPROBS} reasoning_effort thinking`),
  together: anyModel("max_tokens", `${BASIC} ${PENALTIES} ${TOOLS} logit_bias n seed reasoning_effort top_k min_p repetition_penalty`),
  fireworks: anyModel(
    "max_tokens",
    `${BASIC} ${PENALTIES} ${TOOLS} ${LOGPROBS} logit_bias n seed reasoning_effort top_k min_p repetition_penalty`,
  ),
  openrouter: anyModel(
    "max_tokens",
    `${ALL} reasoning provider models transforms route plugins top_k top_a min_p repetition_penalty verbosity`,
  ),
  xai: families("max_tokens", [
    {
      models: /^grok-3-mini/,
      names: `${LIMITS} stream stream_options temperature top_p user ${TOOLS} ${LOGPROBS} n seed parallel_tool_calls reasoning_effort search_parameters`,
    },
    {
      models: /^grok-([4-9]|code)/,
      names: `${LIMITS} stream stream_options temperature top_p user ${TOOLS} ${LOGPROBS} n seed parallel_tool_calls search_parameters`,
    },
    { models: /.*/, names: `${BASIC} ${PENALTIES} ${TOOLS} ${LOGPROBS} n seed parallel_tool_calls search_parameters` },
  ]),
  perplexity: anyModel(
    "max_tokens",
    `${LIMITS} stream stream_options temperature top_p ${PENALTIES} response_format top_k reasoning_effort web_search_options search_mode search_domain_filter search_recency_filter return_images return_related_questions`,
  ),
  vllm: anyModel("max_tokens", SELF_HOSTED),
  lm_studio: anyModel("max_tokens", `${BASIC} ${PENALTIES} ${TOOLS} logit_bias seed top_k repetition_penalty`),
  llamafile: anyModel("max_tokens", `${BASIC} ${PENALTIES} ${TOOLS} logit_bias seed top_k min_p`),
  nvidia: anyModel("max_tokens", `${BASIC} ${PENALTIES} ${TOOLS} seed parallel_tool_calls reasoning_effort chat_template_kwargs`),
  cerebras: anyModel("max_completion_tokens", `${BASIC} ${TOOLS} ${LOGPROBS} seed parallel_tool_calls reasoning_effort`),
  openai_compatible: anyModel("max_tokens", SELF_HOSTED),
  tributary: anyModel("max_tokens", `${LIMITS} n temperature top_p seed stop stream stream_options user`),
} as const satisfies Readonly<Record<string, readonly ModelFamily[]>>;

function anyModel(limitField: LimitField, names: string): readonly ModelFamily[] {
  return families(limitField, [{ models: /.*/, names }]);
}

function families(limitField: LimitField, rows: readonly { readonly models: RegExp; readonly names: string }[]): readonly ModelFamily[] {
  return rows.map(({ models, names }) => ({ models, params: names.split(" "), limitField }));
}
