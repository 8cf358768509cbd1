import { FEE_NAMES } from "../../../../common/fees.ts";
import type { Fees, PricingInput } from "../../../../proto/gen/tributary/catalog/v1/catalog.ts";
import type { EdgeDeps } from "../../../deps.ts";
import { idParams } from "../../../schemas/fields.ts";
import * as schemas from "../../../schemas/platform/catalog.ts";
import { type Operation, operation } from "../../middleware/operation.ts";
import { budgetChange } from "../budgets.ts";
import { sent } from "../present.ts";
import { presentAdminModel, presentAdminProvider } from "../present-catalog.ts";
import { limitsChange, limitsOf } from "../rate-limits.ts";
import { listPrices } from "./list-prices.ts";

const tag = "Admin";
const auth = "admin";

export function adminCatalogOperations(deps: EdgeDeps): Operation[] {
  return [
    listPrices,
    createModel(deps),
    updateModel(deps, "patch"),
    updateModel(deps, "put"),
    deleteModel(deps),
    createProvider(deps),
    updateProvider(deps),
    deleteProvider(deps),
  ];
}

const createModel = ({ control }: EdgeDeps) =>
  operation({
    method: "post",
    path: "/api/admin/models",
    summary: "Create a model; every edge serves it within a second",
    tag,
    auth,
    body: schemas.createModelBody,
    status: 201,
    answer: schemas.modelAnswer,
    handler: async ({ body }, call) => {
      const request = { ...body, pricing: toPricing(body.pricing), limits: limitsOf(body), budget: budgetChange(body) };
      const { model } = await control.catalog.createModel(request, call.write());
      return { model: presentAdminModel(sent(model, "model")) };
    },
  });

const updateModel = ({ control }: EdgeDeps, method: "patch" | "put") =>
  operation({
    method,
    path: "/api/admin/models/:id",
    summary: "Update a model; a new price is a new price version; null removes a rate limit or the budget",
    tag,
    auth,
    params: idParams,
    body: schemas.updateModelBody,
    status: 200,
    answer: schemas.modelAnswer,
    handler: async ({ params, body }, call) => {
      const request = { ...body, id: params.id, pricing: toPricing(body.pricing), limits: limitsChange(body), budget: budgetChange(body) };
      const { model } = await control.catalog.updateModel(request, call.write());
      return { model: presentAdminModel(sent(model, "model")) };
    },
  });

const deleteModel = ({ control }: EdgeDeps) =>
  operation({
    method: "delete",
    path: "/api/admin/models/:id",
    summary: "Delete a model from the catalog",
    tag,
    auth,
    params: idParams,
    status: 200,
    answer: schemas.deletedAnswer,
    handler: async ({ params }, call) => {
      await control.catalog.deleteModel(params, call.write());
      return { deleted: true as const, id: params.id };
    },
  });

const createProvider = ({ control }: EdgeDeps) =>
  operation({
    method: "post",
    path: "/api/admin/providers",
    summary: "Create a provider of models",
    tag,
    auth,
    body: schemas.createProviderBody,
    status: 201,
    answer: schemas.providerAnswer,
    handler: async ({ body }, call) => {
      const { provider } = await control.catalog.createProvider(body, call.write());
      return { provider: presentAdminProvider(sent(provider, "provider")) };
    },
  });

const updateProvider = ({ control }: EdgeDeps) =>
  operation({
    method: "patch",
    path: "/api/admin/providers/:id",
    summary: "Update a provider's name, base URL or API key",
    tag,
    auth,
    params: idParams,
    body: schemas.updateProviderBody,
    status: 200,
    answer: schemas.providerAnswer,
    handler: async ({ params, body }, call) => {
      const { provider } = await control.catalog.updateProvider({ ...body, id: params.id }, call.write());
      return { provider: presentAdminProvider(sent(provider, "provider")) };
    },
  });

const deleteProvider = ({ control }: EdgeDeps) =>
  operation({
    method: "delete",
    path: "/api/admin/providers/:id",
    summary: "Delete a provider",
    tag,
    auth,
    params: idParams,
    status: 200,
    answer: schemas.deletedAnswer,
    handler: async ({ params }, call) => {
      await control.catalog.deleteProvider(params, call.write());
      return { deleted: true as const, id: params.id };
    },
  });

function toPricing(pricing: schemas.PricingFields | undefined): PricingInput | undefined {
  if (!pricing) return undefined;
  const tiers = pricing.tiers?.map((tier) => ({ aboveInputTokens: tier.aboveInputTokens, ...toPrices(tier) }));
  return {
    ...toPrices(pricing),
    unit: pricing.unit,
    audioInput: optionalAmount(pricing.audioInput),
    audioOutput: optionalAmount(pricing.audioOutput),
    webSearch: optionalAmount(pricing.webSearch),
    fees: pricing.fees ? toFees(pricing.fees) : undefined,
    images: pricing.images ? { prices: toImages(pricing.images) } : undefined,
    effectiveAt: pricing.effectiveAt ? new Date(pricing.effectiveAt) : undefined,
    tiers: tiers && { tiers },
  };
}

function toPrices({
  input,
  output,
  cachedInput,
  cacheWrite,
  cacheWriteHour,
}: Pick<schemas.PricingFields, "input" | "output" | "cachedInput" | "cacheWrite" | "cacheWriteHour">) {
  return {
    input: BigInt(input),
    output: BigInt(output),
    cachedInput: optionalAmount(cachedInput),
    cacheWrite: optionalAmount(cacheWrite),
    cacheWriteHour: optionalAmount(cacheWriteHour),
  };
}

function toImages(given: NonNullable<schemas.PricingFields["images"]>): Record<string, bigint> {
  return Object.fromEntries(Object.entries(given).map(([name, price]) => [name, BigInt(price)]));
}

function toFees(given: NonNullable<schemas.PricingFields["fees"]>): Fees {
  return Object.fromEntries(FEE_NAMES.map((name) => [name, optionalAmount(given[name])])) as unknown as Fees;
}

function optionalAmount(amount: number | null | undefined): bigint | undefined {
  return typeof amount === "number" ? BigInt(amount) : undefined;
}
