/** The configuration of a gateway whose model `bench` is at an upstream of scripts/bench/upstream.ts, as one deployment or a group of many. */
export function benchConfig(url: string, deployments = 1): string {
  const deployment = [
    "  - model_name: bench",
    "    litellm_params:",
    "      model: openai/bench",
    `      api_base: ${url}/v1`,
    "      api_key: bench",
    "      input_cost_per_token: 0.0000001",
    "      output_cost_per_token: 0.0000002",
  ];
  return ["model_list:", ...Array.from({ length: deployments }, () => deployment).flat(), ""].join("\n");
}
