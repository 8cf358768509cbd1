import { queryOptions } from "@tanstack/react-query";
import type { z } from "zod";
import type * as system from "../../../gateway-edge/schemas/platform/system.ts";
import { call, get, type Query } from "./client.ts";
import type { AdminModel, LedgerProof, List, ListedModel, Organization, Provider, ProviderKind, User, Wire } from "./types.ts";

export const usersQuery = (query: Query) =>
  queryOptions({ queryKey: ["admin", "users", query], queryFn: ({ signal }) => get<List<User>>("/api/admin/users", query, signal) });

export const organizationsQuery = (query: Query) =>
  queryOptions({
    queryKey: ["admin", "organizations", query],
    queryFn: ({ signal }) => get<List<Organization>>("/api/admin/organizations", query, signal),
  });

export const adminModelsQuery = (query: Query) =>
  queryOptions({
    queryKey: ["admin", "models", query],
    queryFn: ({ signal }) => get<List<AdminModel>>("/api/admin/models", query, signal),
  });

export const providersQuery = queryOptions({
  queryKey: ["admin", "providers"],
  queryFn: ({ signal }) => get<List<Provider>>("/api/admin/providers", { pageSize: 100 }, signal),
});

export const providerKindsQuery = queryOptions({
  queryKey: ["provider-kinds"],
  queryFn: ({ signal }) => get<{ data: ProviderKind[] }>("/api/provider-kinds", undefined, signal),
});

export const listPricesQuery = (query: Query) =>
  queryOptions({
    queryKey: ["list-prices", query],
    queryFn: ({ signal }) => get<List<ListedModel>>("/api/admin/list-prices", query, signal),
  });

export type SystemState = Wire<z.infer<typeof system.systemAnswer>>;

export const systemQuery = queryOptions({
  queryKey: ["admin", "system"],
  queryFn: ({ signal }) => get<SystemState>("/api/admin/system", undefined, signal),
});

export const verifyLedger = (): Promise<LedgerProof> => get<LedgerProof>("/api/admin/ledger/verify");

/** Sends a change to the admin API: `users/7`, `models`, `organizations/org_1/credits`. */
export const adminCall = <Answer = unknown>(method: "POST" | "PUT" | "PATCH" | "DELETE", path: string, body?: object): Promise<Answer> =>
  call<Answer>(method, `/api/admin/${path}`, body === undefined ? {} : { body });
