import type { EdgeDeps } from "../deps.ts";
import { requireAdmin } from "../middleware/authenticate-user.ts";
import { type Operation, type OperationCall, operation } from "../middleware/operation.ts";
import * as schemas from "../schemas/catalog.ts";
import { searchQuery } from "../schemas/fields.ts";
import { presentList, presentModel, presentProvider } from "./present.ts";

interface Listing {
  path: string;
  tag: string;
  auth: "none" | "admin";
}

export function catalogOperations(deps: EdgeDeps): Operation[] {
  const tag = "Catalogue";
  return [listModels(deps, { path: "/api/models", tag, auth: "none" }), listProviders(deps, { path: "/api/providers", tag, auth: "none" })];
}

/** The same lists at the admins' doors. */
export function adminCatalogLists(deps: EdgeDeps): Operation[] {
  const tag = "Admin";
  return [
    listModels(deps, { path: "/api/admin/models", tag, auth: "admin" }),
    listProviders(deps, { path: "/api/admin/providers", tag, auth: "admin" }),
  ];
}

const listModels = (deps: EdgeDeps, listing: Listing) =>
  operation({
    ...listing,
    optionalToken: true,
    method: "get",
    summary: "Models that can be called, with their prices",
    query: schemas.listModelsQuery,
    status: 200,
    answer: schemas.listModelsAnswer,
    handler: async ({ query: { page, pageSize, search, type, provider, sort } }, call) => {
      await admit(deps, listing, call);
      const request = { page: { page, pageSize }, search, type, provider, sort, includeDisabled: listing.auth === "admin" };
      const { models, meta } = await deps.control.catalog.listModels(request, call.read());
      return presentList(models, meta, presentModel);
    },
  });

const listProviders = (deps: EdgeDeps, listing: Listing) =>
  operation({
    ...listing,
    method: "get",
    summary: "Providers of models; never an address or a key",
    query: searchQuery,
    status: 200,
    answer: schemas.listProvidersAnswer,
    handler: async ({ query: { page, pageSize, search } }, call) => {
      await admit(deps, listing, call);
      const { providers, meta } = await deps.control.catalog.listProviders({ page: { page, pageSize }, search }, call.read());
      return presentList(providers, meta, presentProvider);
    },
  });

/** The control plane lists the catalogue for anybody, so the admins' doors ask first. */
async function admit({ control }: EdgeDeps, { auth }: Listing, call: OperationCall): Promise<void> {
  if (auth === "admin") await requireAdmin(control, call.read());
}
