import type { LimitField, ModelFamily, ParamsOf, ProviderKind } from "./provider-kind.ts";

/** The gateway names the limit on output, so both of its names are understood everywhere. */
export const LIMITS = "max_tokens max_completion_tokens";
export const STREAMING = "stream stream_options";
export const BASIC = `${LIMITS} ${STREAMING} temperature top_p stop user`;
export const PENALTIES = "frequency_penalty presence_penalty";
export const TOOLS = "tools tool_choice response_format";
export const LOGPROBS = "logprobs top_logprobs";
export const ALL = `${BASIC} ${PENALTIES} ${TOOLS} ${LOGPROBS} parallel_tool_calls functions function_call logit_bias n seed reasoning_effort`;
export const SELF_HOSTED = `${ALL} top_k min_p repetition_penalty min_tokens stop_token_ids guided_json structured_outputs chat_template_kwargs`;

const COMPLETION_PARAMS = words(
  "best_of echo frequency_penalty logit_bias logprobs max_tokens n presence_penalty seed stop stream stream_options suffix",
  "temperature top_p user",
);
const EMBEDDING_PARAMS = words("dimensions user");

export function words(...lists: readonly string[]): readonly string[] {
  return lists.flatMap((list) => list.split(" "));
}

/** One family for all models of a kind. */
export function anyModel(limitField: LimitField, names: string): readonly ModelFamily[] {
  return [{ models: /.*/, params: words(names), limitField }];
}

/** What the models of a kind take in an operation that the kind offers. */
export function paramsOf({ kind, operations, params }: ProviderKind, operation: "chat" | "completions" | "embeddings"): ParamsOf {
  if (!operations.includes(operation)) throw new Error(`the provider kind ${kind} does not offer ${operation}`);
  if (operation === "completions") return () => COMPLETION_PARAMS;
  const found = operation === "chat" ? params.chat : (params.embeddings ?? (() => EMBEDDING_PARAMS));
  return typeof found === "function" ? found : (model) => familyOf(found, model)?.params ?? NO_PARAMS;
}

const NO_PARAMS: readonly string[] = [];

export function limitFieldOf({ params: { chat } }: ProviderKind, model: string): LimitField | undefined {
  return typeof chat === "function" ? undefined : familyOf(chat, model)?.limitField;
}

const MODELS_MAX = 1000;
const familiesOf = new WeakMap<readonly ModelFamily[], Map<string, ModelFamily | undefined>>();

/** Matched once for each model, because every call asks. */
function familyOf(families: readonly ModelFamily[], model: string): ModelFamily | undefined {
  const known = familiesOf.get(families) ?? new Map<string, ModelFamily | undefined>();
  const before = known.get(model);
  if (before !== undefined) return before;
  const found = families.find(({ models }) => models.test(model));
  if (known.size >= MODELS_MAX) known.clear();
  familiesOf.set(families, known.set(model, found));
  return found;
}
