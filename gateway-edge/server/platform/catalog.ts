import type { z } from "zod";
import type { EdgeDeps } from "../../deps.ts";
import { searchQuery } from "../../schemas/fields.ts";
import * as schemas from "../../schemas/platform/catalog.ts";
import { requireAdmin } from "../middleware/authenticate-user.ts";
import { type Operation, type OperationCall, operation } from "../middleware/operation.ts";
import { presentAdminModel, presentAdminProvider, presentList, presentModel, presentProvider } from "./present.ts";

export function catalogOperations(deps: EdgeDeps): Operation[] {
  return [listModels(deps), listProviders(deps)];
}

/** The same lists as admins see them, disabled models included. */
export function adminCatalogLists(deps: EdgeDeps): Operation[] {
  return [listAdminModels(deps), listAdminProviders(deps)];
}

const models = { method: "get", optionalToken: true, query: schemas.listModelsQuery, status: 200 } as const;
const providers = { method: "get", query: searchQuery, status: 200 } as const;

const listModels = (deps: EdgeDeps) =>
  operation({
    ...models,
    path: "/api/models",
    summary: "Models that can be called, with their prices",
    tag: "Catalogue",
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
    summary: "Every model, with its price, its budget and where it comes from",
    tag: "Admin",
    auth: "admin",
    answer: schemas.listAdminModelsAnswer,
    handler: async ({ query }, call) => {
      await requireAdmin(deps.control, call.read());
      const found = await findModels(deps, query, { call, includeDisabled: true });
      return presentList(found.models, found.meta, presentAdminModel);
    },
  });

const listProviders = ({ control }: EdgeDeps) =>
  operation({
    ...providers,
    path: "/api/providers",
    summary: "Providers of models; never an address or a key",
    tag: "Catalogue",
    auth: "none",
    answer: schemas.listProvidersAnswer,
    handler: async ({ query: { page, pageSize, search } }, call) => {
      const found = await control.catalog.listProviders({ page: { page, pageSize }, search }, call.read());
      return presentList(found.providers, found.meta, presentProvider);
    },
  });

const listAdminProviders = ({ control }: EdgeDeps) =>
  operation({
    ...providers,
    path: "/api/admin/providers",
    summary: "Providers of models and where they come from; never an address or a key",
    tag: "Admin",
    auth: "admin",
    answer: schemas.listAdminProvidersAnswer,
    handler: async ({ query: { page, pageSize, search } }, call) => {
      // The control plane lists providers for any caller, so this route asks first.
      await requireAdmin(control, call.read());
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
