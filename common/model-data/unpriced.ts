import { FEES, type FeeAmount } from "../fees.ts";

/** The error text for a model without a price, with the two ways to set one. */
export function unpricedText(model: string): string {
  return (
    `The model ${model} has no price for this operation, so it cannot be called. An operator can price it in the configuration file ` +
    `(model_info.input_cost_per_token and output_cost_per_token, or the price of another unit such as input_cost_per_second), or as ` +
    `an admin with pricing in POST /api/admin/models or PATCH /api/admin/models/{id}, or in the console.`
  );
}

/** The error text for what a provider bills beside the tokens, at a model without a price for it. */
export function unpricedFeeText(model: string, name: FeeAmount): string {
  const isSearch = name === "search";
  const { what, setting } = isSearch ? { what: "web searches", setting: "search_context_cost_per_query" } : FEES[name];
  return (
    `The model ${model} has no price for ${what}, which its provider bills beside the tokens, so this call is refused. An operator ` +
    `can price them in the configuration file (model_info.${setting}, in USD), or as an admin with ` +
    `pricing.${isSearch ? "webSearch" : `fees.${name}`} in POST /api/admin/models or PATCH /api/admin/models/{id}.`
  );
}
