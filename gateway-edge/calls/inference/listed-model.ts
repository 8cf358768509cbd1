import { findModelData, type ModelData } from "../../../common/model-data/model-data.ts";
import { type PriceMessage, priceMessage } from "../../../common/pricing.ts";
import type { Deployment } from "../../../proto/gen/tributary/access/v1/access.ts";

const KNOWN_MAX = 10_000;
const known = new Map<string, ModelData | undefined>();

/** A deployment's prices from the public list, with their tiers. */
export function listedPrices(deployment: Deployment): PriceMessage | undefined {
  const price = listedModel(deployment)?.pricing;
  return price && priceMessage(price);
}

/** The public list's entry for a deployment's model; used for models under a wildcard, which have no catalog row of their own. */
export function listedModel({ providerKind, inferenceModelId }: Deployment): ModelData | undefined {
  const key = `${providerKind}/${inferenceModelId}`;
  if (!known.has(key)) {
    // Callers choose the names under a wildcard, so the cache has a limit.
    if (known.size >= KNOWN_MAX) known.clear();
    known.set(key, findModelData({ kind: providerKind, model: inferenceModelId }));
  }
  return known.get(key);
}
