import type { z } from "zod";
import type { PriceMessage, TokenPrices } from "../../../common/pricing.ts";
import type { ProviderKind } from "../../../common/providers/shared/provider-kind.ts";
import type { Model, Pricing, Provider } from "../../../proto/gen/tributary/catalog/v1/catalog.ts";
import type * as records from "../../schemas/records.ts";
import { presentTrained } from "../http/models/trained-facts.ts";
import { presentBudget } from "./budgets.ts";
import { money, sent } from "./present.ts";
import { presentLimits } from "./rate-limits.ts";

export function presentModel(model: Model): z.infer<typeof records.modelRecord> {
  const { id, name, type, description, capabilities, supportedParams, status } = model;
  const createdAt = sent(model.createdAt, "createdAt");
  return {
    id,
    name,
    provider: { id: model.providerId, name: model.providerName },
    type,
    description,
    contextWindow: model.contextWindow ?? null,
    maxOutputTokens: model.maxOutputTokens ?? null,
    // Null if there is no price yet; then the model cannot be called.
    pricing: model.pricing ? presentPricing(model.pricing) : null,
    capabilities,
    supportedParams,
    status,
    ...presentLimits(model.limits),
    trained: model.trained ? presentTrained(model.trained) : null,
    createdAt,
    updatedAt: sent(model.updatedAt, "updatedAt"),
  };
}

/** Budgets of models are only shown to admins. */
export function presentAdminModel(model: Model): z.infer<typeof records.adminModelRecord> {
  const { inferenceModelId } = model;
  return { ...presentModel(model), source: sourceOf(model), inferenceModelId, ...presentBudget(model.budget) };
}

function presentPricing(price: Pricing) {
  return { version: price.version, effectiveAt: sent(price.effectiveAt, "effectiveAt"), ...presentPrice(price) };
}

export function presentPrice(price: Omit<PriceMessage, "unit"> & { readonly unit?: string | undefined }) {
  return {
    unit: price.unit ?? "token",
    ...presentPrices(price),
    audioInput: price.audioInput ?? null,
    audioOutput: price.audioOutput ?? null,
    webSearch: price.webSearch ?? null,
    fees: Object.fromEntries(Object.entries(price.fees ?? {}).filter((fee): fee is [string, bigint] => fee[1] !== undefined)),
    ...(price.images && { images: price.images.prices }),
    tiers: (price.tiers?.tiers ?? []).map((tier) => ({ aboveInputTokens: tier.aboveInputTokens, ...presentPrices(tier) })),
  };
}

function presentPrices(price: TokenPrices) {
  return {
    ...money("input", price.input),
    ...money("output", price.output),
    cachedInput: price.cachedInput ?? null,
    cacheWrite: price.cacheWrite ?? null,
    cacheWriteHour: price.cacheWriteHour ?? null,
  };
}

export function presentProvider({ id, name, kind, status, modelCount }: Provider): z.infer<typeof records.providerRecord> {
  return { id, name, kind, status, modelCount };
}

export function presentAdminProvider(provider: Provider): z.infer<typeof records.adminProviderRecord> {
  return { ...presentProvider(provider), source: sourceOf(provider) };
}

export function presentProviderKind(declaration: ProviderKind): z.infer<typeof records.providerKindRecord> {
  const { kind, displayName: name, prefixes, environment, baseUrl = null, needsBaseUrl = false, operations } = declaration;
  const variables = Object.entries(environment).map(([parameter, names]) => [parameter, [...names]]);
  return {
    kind,
    name,
    prefixes: [...prefixes],
    environment: Object.fromEntries(variables),
    baseUrl,
    needsBaseUrl,
    operations: [...operations],
  };
}

/** An older control plane sends no source; then it is the catalog. */
function sourceOf({ source }: { source: string }): "catalog" | "configuration" | "training" {
  return source === "configuration" || source === "training" ? source : "catalog";
}
