import type { Model } from "../../api/types.ts";
import { priceText } from "./model-price.ts";

/** One model name. It may have several deployments, each with its own provider and price. */
export interface HubRow {
  /** The cheapest deployment. */
  readonly model: Model;
  readonly variants: readonly Model[];
}

export function hubRows(models: readonly Model[]): HubRow[] {
  return [...Map.groupBy(models, ({ name }) => name).values()].flatMap((variants) => {
    const [model] = [...variants].sort((left, right) => inputPrice(left) - inputPrice(right));
    return model ? [{ model, variants }] : [];
  });
}

/** A model without a price sorts last, because its price is unknown. */
const inputPrice = ({ pricing }: Model): number => pricing?.input ?? Number.POSITIVE_INFINITY;

export function rowPrice({ model, variants }: HubRow, which: "input" | "output"): string {
  const priced = variants.filter(({ pricing }) => pricing !== null);
  const isOne = new Set(priced.map((variant) => priceText(variant, which))).size <= 1;
  return isOne ? priceText(model, which) : `from ${priceText(model, which)}`;
}

export const rowProviders = ({ variants }: HubRow): string => [...new Set(variants.map(({ provider }) => provider.name))].join(", ");
