import type { z } from "zod";
import { PROVIDER_KINDS } from "../../../common/providers/shared/registry.ts";
import type { EdgeDeps } from "../../deps.ts";
import { searchQuery } from "../../schemas/fields.ts";
import * as schemas from "../../schemas/platform/catalog.ts";
import { type Operation, type OperationCall, operation } from "../middleware/operation.ts";
import { presentList } from "./present.ts";
import { presentAdminModel, presentAdminProvider, presentModel, presentProvider, presentProviderKind } from "./present-catalog.ts";

export function catalogOperations(deps: EdgeDeps): Operation[] {
  return [listModels(deps), listProviders(deps), listProviderKinds];
}

/** The lists for admins, with disabled models. */
export function adminCatalogLists(deps: EdgeDeps): Operation[] {
  return [listAdminModels(deps), listAdminProviders(deps)];
}

const models = { method: "get", optionalToken: true, query: schemas.listModelsQuery, status: 200 } as const;
const providers = { method: "get", query: searchQuery, status: 200 } as const;

const listModels = (deps: EdgeDeps) =>
  operation({
    ...models,
    path: "/api/models",
    summary: "List the models that can be called, with prices",
    tag: "Catalog",
    auth: "none",
    answer: schemas.listModelsAnswer,
    handler: async ({ query }, call) => {
      const found = await findModels(deps, query, { call, includeDisabled: false });
      return presentList(found.models, found.meta, presentModel);
    },
  });

const listAdminModels = (deps: EdgeDeps) =>
  operation({
    ...models,
    path: "/api/admin/models",
    summary: "List all models with price, budget and source",
    tag: "Admin",
    auth: "admin",
    adminFirst: true,
    answer: schemas.listAdminModelsAnswer,
    handler: async ({ query }, call) => {
      const found = await findModels(deps, query, { call, includeDisabled: true });
      return presentList(found.models, found.meta, presentAdminModel);
    },
  });

const listProviders = ({ control }: EdgeDeps) =>
  operation({
    ...providers,
    path: "/api/providers",
    summary: "List the providers of models, without base URLs and keys",
    tag: "Catalog",
    auth: "none",
    answer: schemas.listProvidersAnswer,
    handler: async ({ query: { page, pageSize, search } }, call) => {
      const found = await control.catalog.listProviders({ page: { page, pageSize }, search }, call.read());
      return presentList(found.providers, found.meta, presentProvider);
    },
  });

const listProviderKinds = operation({
  method: "get",
  path: "/api/provider-kinds",
  summary: "Kinds of providers that can be added, with their addresses, environment variables and operations",
  tag: "Catalog",
  auth: "none",
  status: 200,
  answer: schemas.listProviderKindsAnswer,
  handler: async () => ({ data: PROVIDER_KINDS.map(presentProviderKind) }),
});

const listAdminProviders = ({ control }: EdgeDeps) =>
  operation({
    ...providers,
    path: "/api/admin/providers",
    summary: "List the providers of models with their source, without base URLs and keys",
    tag: "Admin",
    auth: "admin",
    // The control plane lists providers for any caller.
    adminFirst: true,
    answer: schemas.listAdminProvidersAnswer,
    handler: async ({ query: { page, pageSize, search } }, call) => {
      const found = await control.catalog.listProviders({ page: { page, pageSize }, search }, call.read());
      return presentList(found.providers, found.meta, presentAdminProvider);
    },
  });

function findModels(
  { control }: EdgeDeps,
  { page, pageSize, ...filter }: z.output<typeof schemas.listModelsQuery>,
  { call, includeDisabled }: { call: OperationCall; includeDisabled: boolean },
) {
  return control.catalog.listModels({ page: { page, pageSize }, ...filter, includeDisabled }, call.read());
}
