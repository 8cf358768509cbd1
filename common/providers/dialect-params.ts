import { bedrockRules } from "./bedrock.ts";
import { cohereRules, takesDimensions } from "./cohere.ts";
import { geminiRules } from "./gemini.ts";
import { claudeRules } from "./shared/claude-rules.ts";

const words = (...lists: readonly string[]): readonly string[] => lists.flatMap((list) => list.split(" "));

const LIMITS = "max_tokens max_completion_tokens";
const STREAMING = "stream stream_options";

export const ANTHROPIC_PARAMS = words(
  `${LIMITS} metadata parallel_tool_calls response_format service_tier stop ${STREAMING} tool_choice tools user`,
);
export const ANTHROPIC_SAMPLING = words("temperature top_p top_k");

export function anthropicParams(model: string): readonly string[] {
  const rules = claudeRules(model);
  const effort = rules.thinking === "none" ? [] : ["reasoning_effort", "thinking"];
  return [...ANTHROPIC_PARAMS, ...effort, ...(rules.sampling === "none" ? [] : ANTHROPIC_SAMPLING)];
}

export const BEDROCK_PARAMS = words(`${LIMITS} response_format service_tier stop ${STREAMING} tool_choice tools`);
export const BEDROCK_SAMPLING = words("temperature top_p");

export function bedrockParams(model: string): readonly string[] {
  const rules = bedrockRules(model);
  const sampling = rules.claude.sampling === "none" ? [] : BEDROCK_SAMPLING;
  const thinks = rules.reasoning === "claude" ? rules.claude.thinking !== "none" : rules.reasoning !== "none";
  return [
    ...BEDROCK_PARAMS,
    ...sampling,
    ...(rules.topK === "none" || sampling.length === 0 ? [] : ["top_k"]),
    ...(rules.singleCalls ? ["parallel_tool_calls"] : []),
    ...(thinks ? ["reasoning_effort"] : []),
    ...(thinks && rules.reasoning === "claude" ? ["thinking"] : []),
  ];
}

const COHERE_PARAMS = words(
  `citation_options documents frequency_penalty logprobs ${LIMITS} presence_penalty response_format safety_mode seed stop ${STREAMING}`,
  "temperature tools top_k top_p",
);

export function cohereParams(model: string): readonly string[] {
  const { toolChoice, thinkingBudgets } = cohereRules(model);
  return [...COHERE_PARAMS, ...(toolChoice ? ["tool_choice"] : []), ...(thinkingBudgets ? ["reasoning_effort", "thinking"] : [])];
}

export function cohereEmbeddingParams(model: string): readonly string[] {
  return ["encoding_format", "input_type", "truncate", ...(takesDimensions(model) ? ["dimensions"] : [])];
}

const GEMINI_PARAMS = words(
  `frequency_penalty logprobs ${LIMITS} modalities n presence_penalty response_format safety_settings seed stop ${STREAMING}`,
  "temperature tool_choice tools top_k top_logprobs top_p",
);

export function geminiParams(model: string): readonly string[] {
  return geminiRules(model).thinking === undefined ? GEMINI_PARAMS : [...GEMINI_PARAMS, "reasoning_effort"];
}

export const GEMINI_EMBEDDING_PARAMS = words("dimensions encoding_format input_type task_type");

export const MISTRAL_PARAMS = words(
  `${LIMITS} ${STREAMING} temperature top_p stop seed n tools tool_choice parallel_tool_calls response_format`,
  "frequency_penalty presence_penalty prediction",
);

export const OLLAMA_PARAMS = words(
  `${LIMITS} ${STREAMING} temperature top_p stop seed tools tool_choice response_format reasoning_effort`,
  "frequency_penalty presence_penalty",
);

export const ECHO_PARAMS = words(`${LIMITS} n stop ${STREAMING} user`);

export const OLLAMA_EMBEDDING_PARAMS = words("dimensions");

export const USUAL_EMBEDDING_PARAMS = words("dimensions user");
