export type LimitField = "max_tokens" | "max_completion_tokens";

/** Models that understand the same parameters. */
export interface ModelFamily {
  readonly models: RegExp;
  readonly params: readonly string[];
  /** Where the limit on output goes; absent: where the caller put it. */
  readonly limitField?: LimitField;
}

const words = (...lists: readonly string[]): string[] => lists.flatMap((list) => list.split(" "));

/** The limit on output is ours to name, so both of its names are understood everywhere. */
export const LIMITS = "max_tokens max_completion_tokens";
const EVERY = `${LIMITS} stream stream_options user safety_identifier metadata store service_tier prompt_cache_key prompt_cache_retention`;
const TOOLS = "tools tool_choice response_format";
const OLDER_TOOLS = "functions function_call parallel_tool_calls";
const SAMPLING = "temperature top_p frequency_penalty presence_penalty logit_bias logprobs top_logprobs";
const CHOICES = "n seed";

/** Which parameters OpenAI's models take. `ft:` models are like the model they were made of. */
export const CHAT_FAMILIES: readonly ModelFamily[] = [
  {
    // Reasoning models, first generation: no sampling; parallel calls are not theirs to choose.
    models: /^(ft:)?o[1-9](-|$)/,
    params: words(EVERY, TOOLS, CHOICES, "functions function_call reasoning_effort"),
    limitField: "max_completion_tokens",
  },
  {
    models: /^(ft:)?gpt-5(\.\d+)?-chat/,
    params: words(EVERY, TOOLS, OLDER_TOOLS, SAMPLING, CHOICES, "stop verbosity"),
    limitField: "max_completion_tokens",
  },
  {
    models: /^(ft:)?(gpt-[5-9]|codex)/,
    params: words(EVERY, TOOLS, OLDER_TOOLS, CHOICES, "reasoning_effort verbosity web_search_options"),
    limitField: "max_completion_tokens",
  },
  { models: /-search-/, params: words(EVERY, "response_format web_search_options") },
  { models: /-audio/, params: words(EVERY, TOOLS, OLDER_TOOLS, SAMPLING, CHOICES, "stop modalities audio") },
  { models: /.*/, params: words(EVERY, TOOLS, OLDER_TOOLS, SAMPLING, CHOICES, "stop prediction modalities web_search_options") },
];

/** A name of an Azure deployment says nothing reliable: where it is no model's name, Azure itself refuses what it does not take. */
export const AZURE_CHAT_FAMILIES: readonly ModelFamily[] = [
  ...CHAT_FAMILIES.slice(0, -1),
  { models: /.*/, params: words(EVERY, TOOLS, OLDER_TOOLS, SAMPLING, CHOICES, "stop prediction modalities reasoning_effort verbosity") },
];

export const EMBEDDING_FAMILIES: readonly ModelFamily[] = [
  { models: /ada-002/, params: ["user"] },
  { models: /.*/, params: ["dimensions", "user"] },
];

/** The first family that fits counts; the last one of a list fits all. */
export function familyOf(families: readonly ModelFamily[], model: string): ModelFamily | undefined {
  return families.find(({ models }) => models.test(model));
}
