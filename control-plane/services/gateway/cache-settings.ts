import { defined } from "../../../common/defined.ts";
import { AppError } from "../../../common/errors.ts";
import type { ServiceHandlers } from "../../../common/grpc/server.ts";
import {
  type CacheSettings,
  type GatewayServiceService,
  type GetCacheSettingsResponse,
  UpdateCacheSettingsResponse,
} from "../../../proto/gen/tributary/gateway/v1/gateway.ts";
import { CACHE_SETTING, type StoredCache } from "../../domain/gateway-settings.ts";
import { requireAdmin } from "../actor.ts";
import type { ControlDeps } from "../deps.ts";
import { write } from "../write.ts";
import { setsCache, storedSettings } from "./merged-settings.ts";
import { putSetting } from "./put-setting.ts";

type Handlers = ServiceHandlers<typeof GatewayServiceService>;

/** Settings of the response cache, which are stored where the file says nothing about it. */
export function cacheSettingHandlers(deps: ControlDeps): Pick<Handlers, "getCacheSettings" | "updateCacheSettings"> {
  return {
    async getCacheSettings(_request, context) {
      await requireAdmin(deps, context);
      return current(deps, (await storedSettings(deps.store)).cache);
    },

    async updateCacheSettings({ settings }, context) {
      const actor = await requireAdmin(deps, context);
      return write(deps, context, { actor, codec: UpdateCacheSettingsResponse, scopes: "catalog" }, async (scope) => {
        if (setsCache(deps.gateway.current.settings)) {
          throw new AppError("VALIDATION_ERROR", "The response cache is set in the configuration file. Change it there.");
        }
        const cache = toStored(settings ?? { enabled: false });
        await putSetting(scope, { id: CACHE_SETTING, value: cache });
        await scope.audit({ action: "cache.update", target: "all", details: { cache: cache.cache, ...cache.cache_params } });
        return current(deps, cache);
      });
    },
  };
}

function current({ gateway }: ControlDeps, stored: StoredCache | undefined): GetCacheSettingsResponse {
  const { settings, files } = gateway.current;
  const ofFile = setsCache(settings);
  const { cache, cache_params: params = {} } = (ofFile ? settings.litellm_settings : (stored ?? {})) as Partial<StoredCache>;
  return {
    settings: {
      enabled: cache === true,
      type: text(params["type"]),
      ttlSeconds: number(params["ttl"]),
      mode: text(params["mode"]),
      semanticCache: text(params["semantic_cache"]),
      similarityThreshold: number(params["similarity_threshold"]),
      embeddingModel: text(params["semantic_cache_embedding_model"]),
    },
    source: ofFile ? "configuration" : stored ? "catalog" : "default",
    file: ofFile ? files[0] : undefined,
  };
}

function toStored({ enabled, type, ttlSeconds, mode, semanticCache, similarityThreshold, embeddingModel }: CacheSettings): StoredCache {
  const params = {
    type,
    ttl: ttlSeconds,
    mode,
    semantic_cache: semanticCache,
    similarity_threshold: similarityThreshold,
    semantic_cache_embedding_model: embeddingModel,
  };
  return { cache: enabled, cache_params: defined(params) };
}

const text = (value: unknown) => (typeof value === "string" ? value : undefined);
const number = (value: unknown) => (typeof value === "number" ? value : undefined);
