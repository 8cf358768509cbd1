import type { Inference } from "../../../calls/create.ts";
import type { EdgeDeps } from "../../../deps.ts";
import * as schemas from "../../../schemas/platform/gateway-state.ts";
import { type Operation, operation } from "../../middleware/operation.ts";
import { presentCache, presentConfiguredCache, presentGuardrails, presentRouting } from "./present-gateway.ts";

const tag = "Admin";
const auth = "admin";

/** The state that these operations show: that of the edge that answers. */
export type GatewayState = Pick<Inference, "routing" | "layers" | "refreshSettings">;

export function adminGatewayOperations(deps: EdgeDeps, gateway: GatewayState): Operation[] {
  return [showRouting(deps, gateway), showGuardrails(deps, gateway), showCache(deps, gateway), clearCache(deps, gateway)];
}

const showRouting = ({ control, config }: EdgeDeps, { routing }: GatewayState) =>
  operation({
    method: "get",
    path: "/api/admin/routing",
    summary: "Model groups with deployments and fallbacks, and each deployment's health at the edge that answers",
    tag,
    auth,
    status: 200,
    answer: schemas.routingAnswer,
    handler: async (_input, call) => {
      return { edge: config.edgeIndex, ...presentRouting(routing, await control.gateway.listRouting({}, call.read())) };
    },
  });

const showGuardrails = ({ control, config }: EdgeDeps, { layers }: GatewayState) =>
  operation({
    method: "get",
    path: "/api/admin/guardrails",
    summary: "All guardrails with their settings, and their findings at the edge that answers",
    tag,
    auth,
    status: 200,
    answer: schemas.guardrailsAnswer,
    handler: async (_input, call) => {
      const { guardrails } = await control.gateway.listGuardrails({}, call.read());
      return { edge: config.edgeIndex, ...presentGuardrails(guardrails, layers.guardrails) };
    },
  });

const showCache = ({ control, config }: EdgeDeps, { layers }: GatewayState) =>
  operation({
    method: "get",
    path: "/api/admin/cache",
    summary: "The response cache: settings, hits and misses at the edge that answers",
    tag,
    auth,
    status: 200,
    answer: schemas.cacheAnswer,
    handler: async (_input, call) => {
      const configured = presentConfiguredCache(await control.gateway.getCacheSettings({}, call.read()), config.cache);
      return { edge: config.edgeIndex, ...presentCache(layers.cache, configured) };
    },
  });

const clearCache = ({ control }: EdgeDeps, { layers }: GatewayState) =>
  operation({
    method: "post",
    path: "/api/admin/cache/clear",
    summary: "Clear the response cache of every edge",
    tag,
    auth,
    body: schemas.clearCacheBody,
    status: 200,
    answer: schemas.clearCacheAnswer,
    handler: async (_input, call) => {
      await control.catalog.clearCache({}, call.write());
      // The feed notifies the other edges. This edge clears its cache at once, so that it serves no old answer after this request.
      await layers.cache.clear();
      return { cleared: true as const };
    },
  });
