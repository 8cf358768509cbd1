import { defined } from "../../common/defined.ts";
import { AppError } from "../../common/errors.ts";
import type { ServiceHandlers } from "../../common/grpc/server.ts";
import { newId } from "../../common/ids.ts";
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
} from "../../proto/gen/tributary/catalog/v1/catalog.ts";
import type { Model, Provider } from "../domain/records.ts";
import { collect, readPage, slicePage } from "../stores/page.ts";
import type { Reader } from "../stores/store.ts";
import { addPrice, type PriceInput } from "../writes/catalog.ts";
import { appendChange } from "../writes/feed.ts";
import { requireAdmin } from "./actor.ts";
import { modelMessage, PROVIDER_KINDS, providerMessage } from "./catalog-messages.ts";
import type { ControlDeps } from "./deps.ts";
import { metaOf, pageOf } from "./messages.ts";
import { write } from "./write.ts";

export function catalogHandlers(deps: ControlDeps): ServiceHandlers<typeof CatalogServiceService> {
  return { ...publicHandlers(deps), ...modelHandlers(deps), ...providerHandlers(deps) };
}

type Handlers = ServiceHandlers<typeof CatalogServiceService>;

function publicHandlers(deps: ControlDeps): Pick<Handlers, "listModels" | "listProviders"> {
  return {
    async listModels(request, context) {
      if (request.includeDisabled) await requireAdmin(deps, context);
      const page = pageOf(request.page);
      const now = deps.clock.now();
      const models = await collect(deps.store.scan("models", { index: "byName" }));
      const messages = await Promise.all(models.map((model) => modelMessage(deps.store, model, now)));
      const found = messages.filter((model) => matches(model, request)).sort(sorter(request.sort));
      const { records, total } = slicePage(found, page);
      return { models: records, meta: metaOf(page, total) };
    },

    async listProviders(request) {
      const page = pageOf(request.page);
      const search = request.search?.toLowerCase() ?? "";
      const { records, total } = await readPage(deps.store, "providers", {
        ...page,
        range: { index: "byName" },
        where: (provider) => provider.nameKey.includes(search) || provider.kind.includes(search),
      });
      return { providers: await Promise.all(records.map((provider) => providerMessage(deps.store, provider))), meta: metaOf(page, total) };
    },
  };
}

function modelHandlers(deps: ControlDeps): Pick<Handlers, "createModel" | "updateModel" | "deleteModel"> {
  return {
    async createModel(request, context) {
      const actor = await requireAdmin(deps, context);
      return write(deps, context, { actor, codec: CreateModelResponse }, async ({ tx, now, audit }) => {
        const provider = await requireProvider(tx, request.provider);
        await refuseTakenModel(tx, request.name);
        const model: Model = {
          id: newId("model", deps),
          name: request.name,
          providerId: provider.id,
          inferenceModelId: request.inferenceModelId,
          type: request.type,
          description: request.description ?? "",
          ...defined({ contextWindow: request.contextWindow, maxOutputTokens: request.maxOutputTokens }),
          status: "active",
          createdAt: now,
          updatedAt: now,
        };
        await tx.insert("models", model);
        const price: PriceInput | undefined = request.pricing ?? PROVIDER_KINDS[provider.kind]?.defaultPrice;
        if (price) await addPrice(tx, model.id, price, now);
        await appendChange(tx, { kind: "catalog", subject: model.id }, now);
        await audit({ action: "model.create", target: model.id, details: { name: model.name, provider: provider.name, pricing: price } });
        return { model: await modelMessage(tx, model, now) };
      });
    },

    async updateModel(request, context) {
      const actor = await requireAdmin(deps, context);
      return write(deps, context, { actor, codec: UpdateModelResponse }, async ({ tx, now, audit }) => {
        const model = await requireModel(tx, request.id);
        const name = request.name ?? model.name;
        if (name !== model.name) await refuseTakenModel(tx, name);
        const limits = defined({ contextWindow: request.contextWindow, maxOutputTokens: request.maxOutputTokens });
        const status = request.status === "active" || request.status === "disabled" ? request.status : model.status;
        const updated: Model = {
          ...model,
          name,
          inferenceModelId: request.inferenceModelId ?? model.inferenceModelId,
          description: request.description ?? model.description,
          ...limits,
          status,
          updatedAt: now,
        };
        await tx.put("models", updated);
        if (request.pricing) await addPrice(tx, model.id, request.pricing, now);
        await appendChange(tx, { kind: "catalog", subject: model.id }, now);
        await audit({ action: "model.update", target: model.id, details: { status, pricing: request.pricing } });
        return { model: await modelMessage(tx, updated, now) };
      });
    },

    async deleteModel(request, context) {
      const actor = await requireAdmin(deps, context);
      return write(deps, context, { actor, codec: DeleteModelResponse }, async ({ tx, now, audit }) => {
        const model = await requireModel(tx, request.id);
        // Its prices stay: usage rows name them.
        await tx.remove("models", model.id);
        await appendChange(tx, { kind: "catalog", subject: model.id }, now);
        await audit({ action: "model.delete", target: model.id, details: { name: model.name } });
        return {};
      });
    },
  };
}

function providerHandlers(deps: ControlDeps): Pick<Handlers, "createProvider" | "updateProvider" | "deleteProvider"> {
  return {
    async createProvider(request, context) {
      const actor = await requireAdmin(deps, context);
      return write(deps, context, { actor, codec: CreateProviderResponse }, async ({ tx, now, audit }) => {
        if (!(request.kind in PROVIDER_KINDS)) {
          const known = Object.keys(PROVIDER_KINDS).join(", ");
          throw new AppError("VALIDATION_ERROR", `There is no provider kind "${request.kind}"; there is: ${known}.`, {
            details: [{ path: "body.kind", message: `must be one of ${known}` }],
          });
        }
        await refuseTakenName(tx, request.name);
        const provider: Provider = {
          id: newId("prov", deps),
          name: request.name,
          nameKey: request.name.toLowerCase(),
          kind: request.kind,
          ...(request.baseUrl === undefined ? {} : { baseUrl: request.baseUrl }),
          ...(request.apiKey === undefined ? {} : { sealedCredential: deps.secrets.seal(Buffer.from(request.apiKey)) }),
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
      return write(deps, context, { actor, codec: UpdateProviderResponse }, async ({ tx, now, audit }) => {
        const provider = await requireProvider(tx, request.id);
        if (request.name !== undefined && request.name.toLowerCase() !== provider.nameKey) await refuseTakenName(tx, request.name);
        const name = request.name ?? provider.name;
        const updated: Provider = {
          ...provider,
          name,
          nameKey: name.toLowerCase(),
          ...(request.baseUrl === undefined ? {} : { baseUrl: request.baseUrl }),
          ...(request.apiKey === undefined ? {} : { sealedCredential: deps.secrets.seal(Buffer.from(request.apiKey)) }),
          updatedAt: now,
        };
        await tx.put("providers", updated);
        await appendChange(tx, { kind: "catalog", subject: provider.id }, now);
        await audit({ action: "provider.update", target: provider.id, details: { name, credentialChanged: request.apiKey !== undefined } });
        return { provider: await providerMessage(tx, updated) };
      });
    },

    async deleteProvider(request, context) {
      const actor = await requireAdmin(deps, context);
      return write(deps, context, { actor, codec: DeleteProviderResponse }, async ({ tx, now, audit }) => {
        const provider = await requireProvider(tx, request.id);
        const models = await tx.count("models", { index: "byProvider", equals: [provider.id] });
        if (models > 0) throw new AppError("VALIDATION_ERROR", `The provider still serves ${models} model(s); delete them first.`);
        await tx.remove("providers", provider.id);
        await appendChange(tx, { kind: "catalog", subject: provider.id }, now);
        await audit({ action: "provider.delete", target: provider.id, details: { name: provider.name } });
        return {};
      });
    },
  };
}

async function requireModel(reader: Reader, id: string): Promise<Model> {
  const model = await reader.get("models", id);
  if (!model) throw new AppError("NOT_FOUND", "There is no such model.");
  return model;
}

async function refuseTakenModel(reader: Reader, name: string): Promise<void> {
  if (await reader.find("models", "byName", [name])) {
    throw new AppError("ALREADY_EXISTS", "There is a model of this name already.", {
      details: [{ path: "body.name", message: "is taken" }],
    });
  }
}

async function requireProvider(reader: Reader, reference: string): Promise<Provider> {
  const provider = (await reader.get("providers", reference)) ?? (await reader.find("providers", "byName", [reference.toLowerCase()]));
  if (!provider)
    throw new AppError("NOT_FOUND", "There is no such provider.", { details: [{ path: "body.provider", message: "is not known" }] });
  return provider;
}

async function refuseTakenName(reader: Reader, name: string): Promise<void> {
  if (await reader.find("providers", "byName", [name.toLowerCase()])) {
    throw new AppError("ALREADY_EXISTS", "There is a provider of this name already.", {
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

/** By name, price, context or age; "-" before the field turns it around. */
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
