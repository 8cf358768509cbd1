import { AppError } from "../../../../common/errors.ts";
import type { CacheSettings, ModelNames } from "../../../../proto/gen/tributary/gateway/v1/gateway.ts";
import type { EdgeDeps } from "../../../deps.ts";
import { type UpdateCacheBody, updateCacheAnswer, updateCacheBody } from "../../../schemas/platform/cache.ts";
import { routingParams, updateRoutingAnswer, updateRoutingBody } from "../../../schemas/platform/routing.ts";
import { type Operation, operation } from "../../middleware/operation.ts";
import { sent } from "../present.ts";
import type { GatewayState } from "./admin-gateway.ts";
import { presentConfiguredCache, presentStored } from "./present-gateway.ts";

const tag = "Admin";
const auth = "admin";

/** Stored settings of cache and routing. The edge that answers applies a change from its next call on, the others within a second. */
export function adminSettingOperations(deps: EdgeDeps, gateway: GatewayState): Operation[] {
  return [updateCache(deps, gateway), updateRouting(deps, gateway)];
}

const updateCache = ({ control, config }: EdgeDeps, gateway: GatewayState) =>
  operation({
    method: "put",
    path: "/api/admin/cache",
    summary: "Set the response cache, if the configuration file does not; null has the default",
    tag,
    auth,
    adminFirst: true,
    body: updateCacheBody,
    status: 200,
    answer: updateCacheAnswer,
    handler: async ({ body }, call) => {
      checkCache(body, config, gateway);
      const saved = await control.gateway.updateCacheSettings({ settings: cacheSettings(body) }, call.write());
      await gateway.refreshSettings();
      return { configured: presentConfiguredCache(saved, config.cache) };
    },
  });

/** Refuses what would silently have no effect at this edge. */
function checkCache(
  { enabled, type, semantic }: UpdateCacheBody,
  { cache, redisUrl }: EdgeDeps["config"],
  { routing }: GatewayState,
): void {
  if (cache !== undefined && !enabled)
    refuse("enabled", `CACHE=${cache} in the environment of the edges turns the cache on; remove it there`);
  if (cache !== undefined && type && type !== cache) refuse("type", `CACHE=${cache} in the environment of the edges sets the type`);
  if (type === "redis" && redisUrl === undefined) refuse("type", "needs REDIS_URL in the environment of the edges");
  if (!semantic || semantic.mode === "off") return;
  const { embeddingModel } = semantic;
  if (!embeddingModel) refuse("semantic.embeddingModel", "is required for a semantic cache");
  if (routing.candidates(embeddingModel).length === 0) refuse("semantic.embeddingModel", `there is no model "${embeddingModel}"`);
}

function refuse(field: string, message: string): never {
  throw new AppError("VALIDATION_ERROR", "The settings of the cache are not valid.", { details: [{ path: `body.${field}`, message }] });
}

function cacheSettings({ enabled, type, ttlSeconds, byDefault, semantic }: UpdateCacheBody): CacheSettings {
  return {
    enabled,
    type: type ? { memory: "local", redis: "redis" }[type] : undefined,
    ttlSeconds: ttlSeconds ?? undefined,
    mode: typeof byDefault === "boolean" ? (byDefault ? "default_on" : "default_off") : undefined,
    semanticCache: semantic?.mode,
    similarityThreshold: semantic?.threshold ?? undefined,
    embeddingModel: semantic?.embeddingModel ?? undefined,
  };
}

const updateRouting = ({ control }: EdgeDeps, { refreshSettings }: GatewayState) =>
  operation({
    method: "put",
    path: "/api/admin/routing/:model",
    summary: "Set strategy, weights, order and fallbacks of a model group, where the configuration file does not",
    tag,
    auth,
    params: routingParams,
    body: updateRoutingBody,
    status: 200,
    answer: updateRoutingAnswer,
    handler: async ({ params: { model }, body: { strategy, deployments, fallbacks } }, call) => {
      const request = {
        model,
        strategy: strategy ?? undefined,
        deployments: deployments.map(({ id, weight, order }) => ({ id, weight: weight ?? undefined, order: order ?? undefined })),
        fallbacks: namesOf(fallbacks.general),
        contextWindowFallbacks: namesOf(fallbacks.contextWindow),
        contentPolicyFallbacks: namesOf(fallbacks.contentPolicy),
        fileFields: [],
      };
      const { routing } = await control.gateway.updateRouting({ routing: request }, call.write());
      await refreshSettings();
      return { model, ...presentStored(sent(routing, "routing")) };
    },
  });

function namesOf(names: string[] | null | undefined): ModelNames | undefined {
  return names ? { names } : undefined;
}
