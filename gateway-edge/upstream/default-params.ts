/** The deployment's default parameters that the operator set, as in LiteLLM beside its address and key. They hold no secret. */
export const DEFAULTABLE: readonly string[] = [
  "temperature",
  "top_p",
  "seed",
  "reasoning_effort",
  "frequency_penalty",
  "presence_penalty",
  "stop",
  "response_format",
];
