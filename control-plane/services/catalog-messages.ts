import type { Model as ModelMessage, Pricing, Provider as ProviderMessage } from "../../proto/gen/tributary/catalog/v1/catalog.ts";
import { priceAt } from "../domain/pricing.ts";
import type { Model, Price, Provider } from "../domain/records.ts";
import { collect } from "../stores/page.ts";
import type { Reader } from "../stores/store.ts";
import { date } from "./messages.ts";

/** What a kind of provider can do and costs where nobody set a price. Kinds without an adapter at the edges are not here. */
export const PROVIDER_KINDS: Readonly<
  Record<string, { supportedParams: readonly string[]; capabilities: readonly string[]; defaultPrice?: { input: bigint; output: bigint } }>
> = {
  echo: {
    supportedParams: ["max_tokens", "max_completion_tokens", "n", "stop", "stream", "stream_options", "user", "metadata"],
    capabilities: ["streaming"],
    // 1 USD and 2 USD per million tokens.
    defaultPrice: { input: 1_000_000_000n, output: 2_000_000_000n },
  },
};

export async function modelMessage(reader: Reader, model: Model, now: number): Promise<ModelMessage> {
  const [provider, prices] = await Promise.all([
    reader.get("providers", model.providerId),
    collect(reader.scan("prices", { index: "byModel", equals: [model.id] })),
  ]);
  const kind = provider && PROVIDER_KINDS[provider.kind];
  return {
    id: model.id,
    name: model.name,
    providerId: model.providerId,
    providerName: provider?.name ?? "",
    type: model.type,
    description: model.description,
    contextWindow: model.contextWindow,
    maxOutputTokens: model.maxOutputTokens,
    pricing: pricingMessage(priceAt(prices, now)),
    capabilities: [...(kind?.capabilities ?? [])],
    supportedParams: [...(kind?.supportedParams ?? [])],
    status: model.status,
    createdAt: date(model.createdAt),
    updatedAt: date(model.updatedAt),
  };
}

export async function providerMessage(reader: Reader, provider: Provider): Promise<ProviderMessage> {
  return {
    id: provider.id,
    name: provider.name,
    kind: provider.kind,
    // The echo provider lives in the edge itself; whether others answer is known once edges report it.
    status: provider.kind === "echo" ? "up" : "unknown",
    modelCount: await reader.count("models", { index: "byProvider", equals: [provider.id] }),
  };
}

function pricingMessage(price: Price | undefined): Pricing | undefined {
  return (
    price && {
      version: price.version,
      effectiveAt: date(price.effectiveAt),
      unit: price.unit,
      input: price.input,
      output: price.output,
      cachedInput: price.cachedInput,
      cacheWrite: price.cacheWrite,
    }
  );
}
