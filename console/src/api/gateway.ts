import { queryOptions } from "@tanstack/react-query";
import type * as gateway from "../../../gateway-edge/schemas/platform/gateway-state.ts";
import { get } from "./client.ts";
import type { Wire } from "./types.ts";

export type Routing = Wire<gateway.RoutingAnswer>;
export type RoutingGroup = Routing["data"][number];
export type RoutingDeployment = RoutingGroup["deployments"][number];
export type Guardrails = Wire<gateway.GuardrailsAnswer>;
export type CacheState = Wire<gateway.CacheAnswer>;

/** Poll interval of screens that show live states. */
const LIVE_MS = 3_000;

export const routingQuery = queryOptions({
  queryKey: ["admin", "routing"],
  queryFn: ({ signal }) => get<Routing>("/api/admin/routing", undefined, signal),
  refetchInterval: LIVE_MS,
});

export const guardrailsQuery = queryOptions({
  queryKey: ["admin", "guardrails"],
  queryFn: ({ signal }) => get<Guardrails>("/api/admin/guardrails", undefined, signal),
  refetchInterval: LIVE_MS,
});

export const cacheQuery = queryOptions({
  queryKey: ["admin", "cache"],
  queryFn: ({ signal }) => get<CacheState>("/api/admin/cache", undefined, signal),
  refetchInterval: LIVE_MS,
});
