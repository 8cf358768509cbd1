import { defined } from "../../../common/defined.ts";
import { AppError } from "../../../common/errors.ts";
import type { ServiceHandlers } from "../../../common/grpc/server.ts";
import { newId } from "../../../common/ids.ts";
import { findModelData } from "../../../common/model-data/model-data.ts";
import { priceMessage } from "../../../common/pricing.ts";
import { findKind, PROVIDER_KINDS } from "../../../common/providers/shared/registry.ts";
import {
  type CatalogServiceService,
  CreateModelResponse,
  CreateProviderResponse,
  DeleteModelResponse,
  DeleteProviderResponse,
  type ListModelsRequest,
  type Model as ModelMessage,
  UpdateModelResponse,
  UpdateProviderResponse,
} from "../../../proto/gen/tributary/catalog/v1/catalog.ts";
import { budgetName, budgetOf, withBudget } from "../../domain/budgets.ts";
import { routingSetting } from "../../domain/gateway-settings.ts";
import { rateLimitsOf, withRateLimits } from "../../domain/rate-limits.ts";
import type { Model, Provider } from "../../domain/records.ts";
import { collect, slicePage } from "../../stores/page.ts";
import type { Reader, Transaction } from "../../stores/store.ts";
import { followBudget } from "../../writes/budgets.ts";
import { addPrice, type PriceInput } from "../../writes/catalog.ts";
import { appendChange } from "../../writes/feed.ts";
import { actorIfAny, requireAdmin } from "../actor.ts";
import type { ControlDeps } from "../deps.ts";
import { metaOf, pageOf } from "../messages.ts";
import { write } from "../write.ts";
import { checkBaseUrl } from "./base-url.ts";
import { cacheHandlers } from "./cache.ts";
import { allModels, fileProviders, isOfFile } from "./merged-catalog.ts";
import { modelMessage, providerMessage } from "./messages.ts";
import { changedTls } from "./provider-tls.ts";
import { trainedProviders } from "./trained-deployments.ts";

export function catalogHandlers(deps: ControlDeps): ServiceHandlers<typeof CatalogServiceService> {
  return { ...publicHandlers(deps), ...modelHandlers(deps), ...providerHandlers(deps), ...cacheHandlers(deps) };
}

type Handlers = ServiceHandlers<typeof CatalogServiceService>;

function publicHandlers(deps: ControlDeps): Pick<Handlers, "listModels" | "listProviders"> {
  return {
    async listModels(request, context) {
      if (request.includeDisabled) await requireAdmin(deps, context);
      const page = pageOf(request.page);
      const organizationId = request.includeDisabled ? "all" : (await actorIfAny(deps, context))?.organizationId;
      const found = (await allModels(deps, organizationId)).filter((model) => matches(model, request)).sort(sorter(request.sort));
      const { records, total } = slicePage(found, page);
      const models = request.includeDisabled
        ? records
        : records.map(({ budget: _budget, ...shown }) => ({ ...shown, inferenceModelId: "" }));
      return { models, meta: metaOf(page, total) };
    },

    async listProviders(request) {
      const page = pageOf(request.page);
      const search = request.search?.toLowerCase() ?? "";
      const stored = await collect(deps.store.scan("providers", { index: "byName" }));
      const messages = await Promise.all(stored.map((provider) => providerMessage(deps.store, provider)));
      const found = [...messages, ...fileProviders(deps.gateway.current), ...(await trainedProviders(deps.store))]
        .filter(({ name, kind }) => name.toLowerCase().includes(search) || kind.includes(search))
        .sort((left, right) => (left.name.toLowerCase() < right.name.toLowerCase() ? -1 : 1));
      const { records, total } = slicePage(found, page);
      return { providers: records, meta: metaOf(page, total) };
    },
  };
}

function modelHandlers(deps: ControlDeps): Pick<Handlers, "createModel" | "updateModel" | "deleteModel"> {
  return {
    async createModel(request, context) {
      const actor = await requireAdmin(deps, context);
      return write(deps, context, { actor, codec: CreateModelResponse, scopes: "catalog" }, async ({ tx, now, audit }) => {
        const provider = await requireProvider(tx, request.provider, deps);
        await refuseTakenModel(tx, request.name);
        // Missing values are taken from today's public list; its price becomes the model's first price version.
        const data = findModelData({ kind: provider.kind, model: request.inferenceModelId, at: new Date(now) });
        const named: Model = {
          id: newId("model", deps),
          name: request.name,
          providerId: provider.id,
          inferenceModelId: request.inferenceModelId,
          type: request.type,
          description: request.description ?? "",
          ...limitsOf(request, data),
          ...rateLimitsOf(request.limits ?? {}),
          status: "active",
          createdAt: now,
          updatedAt: now,
        };
        const model = withBudget(named, request.budget);
        await tx.insert("models", model);
        await followModelBudget(tx, { before: named, after: model }, now);
        const listed = data?.pricing && priceMessage(data.pricing);
        const price: PriceInput | undefined = request.pricing ?? listed;
        if (price) await addPrice(tx, model.id, price, now);
        await appendChange(tx, { kind: "catalog", subject: model.id }, now);
        await audit({ action: "model.create", target: model.id, details: { name: model.name, provider: provider.name, pricing: price } });
        return { model: await modelMessage(tx, model, now) };
      });
    },

    async updateModel(request, context) {
      const actor = await requireAdmin(deps, context);
      return write(deps, context, { actor, codec: UpdateModelResponse, scopes: "catalog" }, async ({ tx, now, audit }) => {
        const model = await requireModel(tx, request.id, deps);
        const name = request.name ?? model.name;
        if (name !== model.name) await refuseTakenModel(tx, name);
        const limits = defined({ contextWindow: request.contextWindow, maxOutputTokens: request.maxOutputTokens });
        const status = request.status === "active" || request.status === "disabled" ? request.status : model.status;
        const updated: Model = {
          ...withBudget(withRateLimits(model, request.limits), request.budget),
          name,
          inferenceModelId: request.inferenceModelId ?? model.inferenceModelId,
          description: request.description ?? model.description,
          ...limits,
          status,
          updatedAt: now,
        };
        await tx.put("models", updated);
        await followModelBudget(tx, { before: model, after: updated }, now);
        if (request.pricing) await addPrice(tx, model.id, request.pricing, now);
        await appendChange(tx, { kind: "catalog", subject: model.id }, now);
        await audit({
          action: "model.update",
          target: model.id,
          details: { status, pricing: request.pricing, ...rateLimitsOf(updated), ...budgetOf(updated) },
        });
        return { model: await modelMessage(tx, updated, now) };
      });
    },

    async deleteModel(request, context) {
      const actor = await requireAdmin(deps, context);
      return write(deps, context, { actor, codec: DeleteModelResponse, scopes: "catalog" }, async ({ tx, now, audit }) => {
        const model = await requireModel(tx, request.id, deps);
        // Its price versions stay, because usage rows name them.
        await tx.remove("models", model.id);
        await tx.remove("budgetUses", budgetName("model", model.id));
        const isInFile = deps.gateway.current.deployments.some(({ modelName }) => modelName === model.name);
        if (!isInFile) await tx.remove("gatewaySettings", routingSetting(model.name));
        await appendChange(tx, { kind: "catalog", subject: model.id }, now);
        await audit({ action: "model.delete", target: model.id, details: { name: model.name } });
        return {};
      });
    },
  };
}

function followModelBudget(tx: Transaction, change: { before: Model; after: Model }, now: number): Promise<void> {
  return followBudget(tx, { kind: "model", id: change.after.id, organizationIds: [] }, change, now);
}

function providerHandlers(deps: ControlDeps): Pick<Handlers, "createProvider" | "updateProvider" | "deleteProvider"> {
  return {
    async createProvider(request, context) {
      const actor = await requireAdmin(deps, context);
      return write(deps, context, { actor, codec: CreateProviderResponse, scopes: "catalog" }, async ({ tx, now, audit }) => {
        if (!findKind(request.kind)) {
          const known = PROVIDER_KINDS.map(({ kind }) => kind).join(", ");
          throw new AppError("VALIDATION_ERROR", `The provider kind "${request.kind}" does not exist. Use one of: ${known}.`, {
            details: [{ path: "body.kind", message: `must be one of ${known}` }],
          });
        }
        checkBaseUrl(request.kind, request.baseUrl, deps.config.allowPrivateUpstreams);
        await refuseTakenName(tx, request.name);
        const provider: Provider = {
          id: newId("prov", deps),
          name: request.name,
          nameKey: request.name.toLowerCase(),
          kind: request.kind,
          ...(request.baseUrl === undefined ? {} : { baseUrl: request.baseUrl }),
          ...(request.apiKey === undefined ? {} : { sealedCredential: deps.secrets.seal(Buffer.from(request.apiKey)) }),
          ...changedTls({}, request, deps.secrets),
          createdAt: now,
          updatedAt: now,
        };
        await tx.insert("providers", provider);
        await audit({ action: "provider.create", target: provider.id, details: { name: provider.name, kind: provider.kind } });
        return { provider: await providerMessage(tx, provider) };
      });
    },

    async updateProvider(request, context) {
      const actor = await requireAdmin(deps, context);
      return write(deps, context, { actor, codec: UpdateProviderResponse, scopes: "catalog" }, async ({ tx, now, audit }) => {
        const provider = await requireProvider(tx, request.id, deps);
        if (request.name !== undefined && request.name.toLowerCase() !== provider.nameKey) await refuseTakenName(tx, request.name);
        if (request.baseUrl !== undefined) checkBaseUrl(provider.kind, request.baseUrl, deps.config.allowPrivateUpstreams);
        const name = request.name ?? provider.name;
        const { sealedTls: _before, ...unchanged } = provider;
        const updated: Provider = {
          ...unchanged,
          name,
          nameKey: name.toLowerCase(),
          ...(request.baseUrl === undefined ? {} : { baseUrl: request.baseUrl }),
          ...(request.apiKey === undefined ? {} : { sealedCredential: deps.secrets.seal(Buffer.from(request.apiKey)) }),
          ...changedTls(provider, request, deps.secrets),
          updatedAt: now,
        };
        await tx.put("providers", updated);
        await appendChange(tx, { kind: "catalog", subject: provider.id }, now);
        await audit({
          action: "provider.update",
          target: provider.id,
          details: { name, credentialChanged: request.apiKey !== undefined, tlsChanged: updated.sealedTls !== provider.sealedTls },
        });
        return { provider: await providerMessage(tx, updated) };
      });
    },

    async deleteProvider(request, context) {
      const actor = await requireAdmin(deps, context);
      return write(deps, context, { actor, codec: DeleteProviderResponse, scopes: "catalog" }, async ({ tx, now, audit }) => {
        const provider = await requireProvider(tx, request.id, deps);
        const models = await tx.count("models", { index: "byProvider", equals: [provider.id] });
        if (models > 0) throw new AppError("VALIDATION_ERROR", `The provider still has ${models} model(s). Delete them first.`);
        await tx.remove("providers", provider.id);
        await appendChange(tx, { kind: "catalog", subject: provider.id }, now);
        await audit({ action: "provider.delete", target: provider.id, details: { name: provider.name } });
        return {};
      });
    },
  };
}

/** Both limits from the request, or both from the list: a mix could be contradictory. */
function limitsOf(given: Limits, data: Limits | undefined): Pick<Model, "contextWindow" | "maxOutputTokens"> {
  const { contextWindow, maxOutputTokens } =
    given.contextWindow === undefined && given.maxOutputTokens === undefined ? (data ?? {}) : given;
  return defined({ contextWindow, maxOutputTokens });
}

interface Limits {
  readonly contextWindow?: number | undefined;
  readonly maxOutputTokens?: number | undefined;
}

async function requireModel(reader: Reader, id: string, deps: ControlDeps): Promise<Model> {
  const model = await reader.get("models", id);
  if (!model) refuseOfFile(id, deps);
  if (!model) await refuseTrained(reader, id);
  if (!model) throw new AppError("NOT_FOUND", "There is no such model.");
  return model;
}

async function refuseTakenModel(reader: Reader, name: string): Promise<void> {
  const isTaken = (await reader.find("models", "byName", [name])) ?? (await reader.find("trainedModels", "byOpenName", [name]));
  if (isTaken) {
    throw new AppError("ALREADY_EXISTS", "A model with this name exists already.", {
      details: [{ path: "body.name", message: "is taken" }],
    });
  }
}

async function requireProvider(reader: Reader, reference: string, deps: ControlDeps): Promise<Provider> {
  const provider = (await reader.get("providers", reference)) ?? (await reader.find("providers", "byName", [reference.toLowerCase()]));
  if (!provider) refuseOfFile(reference, deps);
  if (!provider)
    throw new AppError("NOT_FOUND", "There is no such provider.", { details: [{ path: "body.provider", message: "is not known" }] });
  return provider;
}

function refuseOfFile(id: string, deps: ControlDeps): void {
  if (isOfFile(deps.gateway.current, id))
    throw new AppError("VALIDATION_ERROR", "This comes from the configuration file. Change it there.");
}

async function refuseTrained(reader: Reader, id: string): Promise<void> {
  if (!(await reader.get("trainedModels", id))) return;
  throw new AppError("VALIDATION_ERROR", "This is a trained model. Publish a new version to change its price, type or description.");
}

async function refuseTakenName(reader: Reader, name: string): Promise<void> {
  if (await reader.find("providers", "byName", [name.toLowerCase()])) {
    throw new AppError("ALREADY_EXISTS", "A provider with this name exists already.", {
      details: [{ path: "body.name", message: "is taken" }],
    });
  }
}

function matches(model: ModelMessage, query: Pick<ListModelsRequest, "search" | "type" | "provider" | "includeDisabled">): boolean {
  const search = query.search?.toLowerCase();
  const provider = query.provider?.toLowerCase();
  return (
    (query.includeDisabled || model.status === "active") &&
    (search === undefined || model.name.toLowerCase().includes(search) || model.description.toLowerCase().includes(search)) &&
    (query.type === undefined || model.type === query.type) &&
    (provider === undefined || model.providerId === query.provider || model.providerName.toLowerCase() === provider)
  );
}

/** Sorts by a field; a leading "-" sorts descending. */
function sorter(sort: string | undefined): (left: ModelMessage, right: ModelMessage) => number {
  const descending = sort?.startsWith("-") ?? false;
  const field = sort?.replace(/^-/, "") ?? "name";
  const sortValue = (model: ModelMessage): string | number | bigint => {
    switch (field) {
      case "createdAt":
        return model.createdAt?.getTime() ?? 0;
      case "contextWindow":
        return model.contextWindow ?? 0;
      case "input":
        return model.pricing?.input ?? 0n;
      case "output":
        return model.pricing?.output ?? 0n;
      case "provider":
        return model.providerName;
      default:
        return model.name;
    }
  };
  return (left, right) => {
    const [a, b] = [sortValue(left), sortValue(right)];
    const order = a < b ? -1 : a > b ? 1 : left.name < right.name ? -1 : 1;
    return descending ? -order : order;
  };
}
