import type { Inference } from "../../../calls/create.ts";
import type { EdgeDeps } from "../../../deps.ts";
import * as schemas from "../../../schemas/platform/gateway-state.ts";
import { requireAdmin } from "../../middleware/authenticate-user.ts";
import { type Operation, operation } from "../../middleware/operation.ts";
import { presentCache, presentGuardrails, presentRouting } from "./present-gateway.ts";

const tag = "Admin";
const auth = "admin";

/** What the operations look at: the inference half of the edge that answers. */
export type GatewayState = Pick<Inference, "routing" | "layers">;

export function adminGatewayOperations(deps: EdgeDeps, gateway: GatewayState): Operation[] {
  return [showRouting(deps, gateway), showGuardrails(deps, gateway), showCache(deps, gateway), clearCache(deps, gateway)];
}

const showRouting = ({ control, config }: EdgeDeps, { routing }: GatewayState) =>
  operation({
    method: "get",
    path: "/api/admin/routing",
    summary: "Groups, their deployments and fallbacks, and how each deployment fares at the edge that answers",
    tag,
    auth,
    status: 200,
    answer: schemas.routingAnswer,
    handler: async (_input, call) => {
      await requireAdmin(control, call.read());
      return { edge: config.edgeIndex, ...presentRouting(routing) };
    },
  });

const showGuardrails = ({ control, config }: EdgeDeps, { layers }: GatewayState) =>
  operation({
    method: "get",
    path: "/api/admin/guardrails",
    summary: "The configured guardrails, and what they found at the edge that answers",
    tag,
    auth,
    status: 200,
    answer: schemas.guardrailsAnswer,
    handler: async (_input, call) => {
      await requireAdmin(control, call.read());
      return { edge: config.edgeIndex, ...presentGuardrails(layers.guardrails) };
    },
  });

const showCache = ({ control, config }: EdgeDeps, { layers }: GatewayState) =>
  operation({
    method: "get",
    path: "/api/admin/cache",
    summary: "How answers are kept, and how often that helped at the edge that answers",
    tag,
    auth,
    status: 200,
    answer: schemas.cacheAnswer,
    handler: async (_input, call) => {
      await requireAdmin(control, call.read());
      return { edge: config.edgeIndex, ...presentCache(layers.cache) };
    },
  });

const clearCache = ({ control }: EdgeDeps, { layers }: GatewayState) =>
  operation({
    method: "post",
    path: "/api/admin/cache/clear",
    summary: "Have every edge forget the answers it keeps",
    tag,
    auth,
    body: schemas.clearCacheBody,
    status: 200,
    answer: schemas.clearCacheAnswer,
    handler: async (_input, call) => {
      await control.catalog.clearCache({}, call.write());
      // The others hear of it; whoever asked is not to be given an old answer by this one meanwhile.
      await layers.cache.clear();
      return { cleared: true as const };
    },
  });
