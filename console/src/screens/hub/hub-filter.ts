import type { Model } from "../../api/types.ts";

/** Filters of the model hub, from the URL. */
export interface HubFilter {
  readonly search: string;
  readonly type: string | undefined;
  readonly provider: string | undefined;
  readonly capability: string | undefined;
  /** Maximum input price in USD per million tokens. */
  readonly priceMax: number | undefined;
  readonly contextMin: number | undefined;
}

export function readHubFilter(address: Readonly<Record<string, unknown>>): HubFilter {
  const text = (name: string) => (address[name] === undefined ? undefined : String(address[name]));
  const amount = (name: string) => {
    const value = Number(text(name) ?? Number.NaN);
    return Number.isFinite(value) ? value : undefined;
  };
  return {
    search: text("search") ?? "",
    type: text("type"),
    provider: text("provider"),
    capability: text("capability"),
    priceMax: amount("price"),
    contextMin: amount("context"),
  };
}

export function matchesFilter(model: Model, { search, type, provider, capability, priceMax, contextMin }: HubFilter): boolean {
  const words = `${model.name} ${model.description} ${model.provider.name}`.toLowerCase();
  return (
    words.includes(search.trim().toLowerCase()) &&
    (type === undefined || model.type === type) &&
    (provider === undefined || model.provider.id === provider) &&
    (capability === undefined || (capability === "trained" ? model.trained !== null : model.capabilities.includes(capability))) &&
    (priceMax === undefined || isAtMost(model, priceMax)) &&
    (contextMin === undefined || (model.contextWindow ?? 0) >= contextMin)
  );
}

/** Only prices per token are comparable. */
function isAtMost({ pricing }: Model, usdPerMillion: number): boolean {
  return pricing !== null && pricing.unit === "token" && pricing.input <= usdPerMillion * 1_000_000_000;
}
