/** The error text for a model without a price, with the two ways to set one. */
export function unpricedText(model: string): string {
  return (
    `The model ${model} has no price for this operation, so it cannot be called. An operator can price it in the configuration file ` +
    `(model_info.input_cost_per_token and output_cost_per_token, or the price of another unit such as input_cost_per_second), or as ` +
    `an admin with pricing in POST /api/admin/models or PATCH /api/admin/models/{id}, or in the console.`
  );
}

/** The error text for a web search tool at a model without a price for searches. */
export function unpricedSearchText(model: string): string {
  return (
    `The model ${model} has no price for web searches, which its provider bills beside the tokens, so the tool cannot be used. An operator ` +
    `can price them in the configuration file (model_info.search_context_cost_per_query, in USD), or as an admin with pricing.webSearch in ` +
    `POST /api/admin/models or PATCH /api/admin/models/{id}.`
  );
}
