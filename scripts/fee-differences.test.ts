import { feeDifferences } from "./fee-differences.ts";

const tokens = { mode: "chat", input_cost_per_token: 1e-6, output_cost_per_token: 2e-6 };
const sizes = (low: number, medium: number, high: number) => ({
  search_context_cost_per_query: { search_context_size_low: low, search_context_size_medium: medium, search_context_size_high: high },
});

test("a fee of the hand-written table that the price list has in another amount is reported; equal, absent and known ones are not", () => {
  expect(feeDifferences("perplexity", "sonar", { ...tokens, ...sizes(0.005, 0.008, 0.012) })).toEqual([]);
  expect(feeDifferences("perplexity", "sonar", tokens)).toEqual([]);
  expect(feeDifferences("perplexity", "sonar-reasoning", { ...tokens, ...sizes(0.005, 0.008, 0.014) })).toEqual([]);
  expect(feeDifferences("perplexity", "sonar", { ...tokens, ...sizes(0.005, 0.009, 0.012) })).toEqual([
    "perplexity/sonar requestMedium: common/model-data/list-fees.ts has 0.008 USD, the price list 0.009 USD",
  ]);
  expect(
    feeDifferences("openai", "gpt-5", { ...tokens, file_search_cost_per_1k_calls: 4, code_interpreter_cost_per_session: 0.03 }),
  ).toEqual(["openai/gpt-5 fileSearch: common/model-data/list-fees.ts has 0.0025 USD, the price list 0.004 USD"]);
});
