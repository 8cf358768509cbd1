/** The configuration of a gateway whose model `bench` is at an upstream of scripts/bench/upstream.ts. */
export function benchConfig(url: string): string {
  return [
    "model_list:",
    "  - model_name: bench",
    "    litellm_params:",
    "      model: openai/bench",
    `      api_base: ${url}/v1`,
    "      api_key: bench",
    "      input_cost_per_token: 0.0000001",
    "      output_cost_per_token: 0.0000002",
    "",
  ].join("\n");
}
