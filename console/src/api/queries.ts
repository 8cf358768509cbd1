import { QueryCache, QueryClient, queryOptions } from "@tanstack/react-query";
import { ApiError, get, type Query } from "./client.ts";
import { readMe } from "./session.ts";
import type {
  ApiKey,
  Invitation,
  LedgerEntry,
  List,
  Model,
  Organization,
  Purchase,
  Quota,
  Storage,
  Team,
  TeamDetail,
  Totals,
  UsageBucket,
  UsageLog,
} from "./types.ts";

const RETRIES_MAX = 2;

/** Data is considered stale after a few seconds; calls that fail with 4xx are not retried. */
export function createQueryClient(onSessionLost: () => void): QueryClient {
  return new QueryClient({
    queryCache: new QueryCache({
      onError: (error, query) => {
        if (error instanceof ApiError && error.status === 401 && query.queryKey[0] !== "me") onSessionLost();
      },
    }),
    defaultOptions: {
      queries: {
        staleTime: 5_000,
        retry: (count, error) => count < RETRIES_MAX && !(error instanceof ApiError && error.status >= 400 && error.status < 500),
        retryDelay: (attempt) => 400 * 2 ** attempt,
      },
    },
  });
}

export const meQuery = queryOptions({ queryKey: ["me"], queryFn: ({ signal }) => readMe(signal), staleTime: 30_000, retry: 1 });

/** The issuers at which users can sign in. They change with a restart only. */
export const oidcQuery = queryOptions({
  queryKey: ["oidc"],
  queryFn: ({ signal }) => get<{ data: { id: string; name: string }[] }>("/api/auth/oidc", undefined, signal),
  staleTime: Number.POSITIVE_INFINITY,
});

export const quotaQuery = queryOptions({
  queryKey: ["quota"],
  queryFn: async ({ signal }) => (await get<{ quota: Quota }>("/api/quota", undefined, signal)).quota,
});

export const teamsQuery = (query: Query = { pageSize: 100 }) =>
  queryOptions({ queryKey: ["teams", query], queryFn: ({ signal }) => get<List<Team>>("/api/gw/teams", query, signal) });

export const teamQuery = (id: string) =>
  queryOptions({
    queryKey: ["team", id],
    queryFn: async ({ signal }) => (await get<{ team: TeamDetail }>(`/api/gw/teams/${encodeURIComponent(id)}`, undefined, signal)).team,
  });

export const keysQuery = (query: Query = { pageSize: 100 }) =>
  queryOptions({ queryKey: ["keys", query], queryFn: ({ signal }) => get<List<ApiKey>>("/api/api-keys", query, signal) });

export const organizationsQuery = queryOptions({
  queryKey: ["organizations"],
  queryFn: ({ signal }) => get<List<Organization>>("/api/gw/organizations/list", { pageSize: 100 }, signal),
});

export const storageQuery = queryOptions({
  queryKey: ["storage"],
  queryFn: async ({ signal }) => (await get<{ storage: Storage }>("/api/gw/storage", undefined, signal)).storage,
});

export const invitationsQuery = queryOptions({
  queryKey: ["invitations"],
  queryFn: ({ signal }) => get<List<Invitation>>("/api/invitations", { pageSize: 100 }, signal),
});

export const modelsQuery = (query: Query = { pageSize: 100 }) =>
  queryOptions({ queryKey: ["models", query], queryFn: ({ signal }) => get<List<Model>>("/api/models", query, signal), staleTime: 30_000 });

export const purchasesQuery = (query: Query) =>
  queryOptions({ queryKey: ["purchases", query], queryFn: ({ signal }) => get<List<Purchase>>("/api/credits/purchases", query, signal) });

export const ledgerQuery = (query: Query) =>
  queryOptions({ queryKey: ["ledger", query], queryFn: ({ signal }) => get<List<LedgerEntry>>("/api/credits/ledger", query, signal) });

export interface LogList {
  data: UsageLog[];
  meta: List<UsageLog>["meta"] & { nextCursor: string | null; partial: boolean; totals: Totals; totalsExact: boolean };
}

export const logsQuery = (query: Query) =>
  queryOptions({ queryKey: ["logs", query], queryFn: ({ signal }) => get<LogList>("/api/gw/logs", query, signal) });

export interface Usage {
  data: UsageBucket[];
  meta: { totals: Totals };
}

export const usageQuery = (query: Query) =>
  queryOptions({ queryKey: ["usage", query], queryFn: ({ signal }) => get<Usage>("/api/gw/usage", query, signal) });
