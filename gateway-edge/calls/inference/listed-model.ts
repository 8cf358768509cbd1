import { findModelData, type ModelData } from "../../../common/model-data/model-data.ts";
import { type PriceMessage, priceMessage } from "../../../common/pricing.ts";
import type { Deployment } from "../../../proto/gen/tributary/access/v1/access.ts";

const KNOWN_MAX = 10_000;
const known = new Map<string, ModelData | undefined>();

/** The public list's prices of it, with their tiers. */
export function listedPrices(deployment: Deployment): PriceMessage | undefined {
  const price = listedModel(deployment)?.pricing;
  return price && priceMessage(price);
}

/** What the public list says of a deployment's model; for models under a wildcard, which nobody wrote down one by one. */
export function listedModel({ providerKind, inferenceModelId }: Deployment): ModelData | undefined {
  const key = `${providerKind}/${inferenceModelId}`;
  if (!known.has(key)) {
    // A caller chooses the names under a wildcard: what is remembered of them has a bound.
    if (known.size >= KNOWN_MAX) known.clear();
    known.set(key, findModelData({ kind: providerKind, model: inferenceModelId }));
  }
  return known.get(key);
}
