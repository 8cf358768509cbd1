import type { ListedModel } from "../../../api/types.ts";
import { usdOf } from "../../../format/money.ts";
import { priceOf, priceProblem } from "../../../format/price.ts";
import { copiedPrices } from "../copied-prices.ts";

/** A ticked model with the texts of its fields. */
export interface Pick {
  readonly listed: ListedModel;
  /** The model name that clients send. */
  readonly name: string;
  /** USD per million units; both as listed: the list price. */
  readonly input: string;
  readonly output: string;
}

export function pickOf(listed: ListedModel): Pick {
  const text = (price: number | undefined) => (price === undefined ? "" : usdOf(price));
  return { listed, name: listed.inferenceModelId, input: text(listed.pricing?.input), output: text(listed.pricing?.output) };
}

export function isAtListPrice({ listed: { pricing }, input, output }: Pick): boolean {
  if (pricing === null || priceProblem(input) !== undefined || priceProblem(output) !== undefined) return false;
  return priceOf(input) === pricing.input && priceOf(output) === pricing.output;
}

/** What has to be corrected before a model can be added, by field. */
export function problemsOf({ listed, name, input, output }: Pick): Partial<Record<"name" | "input" | "output", string>> {
  const isMissing = listed.pricing === null && input.trim() === "";
  const inputProblem = isMissing ? "No list price: enter one" : priceProblem(input);
  const outputProblem = priceProblem(output);
  return {
    ...(name.trim() === "" && { name: "Enter a name" }),
    ...(inputProblem !== undefined && { input: inputProblem }),
    ...(outputProblem !== undefined && { output: outputProblem }),
  };
}

/** The body of POST /api/admin/models. Without `pricing` the list price of that moment becomes the model's price. */
export function modelBody(pick: Pick, providerId: string): object {
  const { listed, name, input, output } = pick;
  const { inferenceModelId, type, pricing } = listed;
  const own = { ...copiedPrices(pricing), input: priceOf(input), output: priceOf(output) };
  return { name: name.trim(), provider: providerId, inferenceModelId, type, ...(isAtListPrice(pick) ? {} : { pricing: own }) };
}
