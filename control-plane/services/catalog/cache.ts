import type { ServiceHandlers } from "../../../common/grpc/server.ts";
import { type CatalogServiceService, ClearCacheResponse } from "../../../proto/gen/tributary/catalog/v1/catalog.ts";
import { appendChange } from "../../writes/feed.ts";
import { requireAdmin } from "../actor.ts";
import type { ControlDeps } from "../deps.ts";
import { write } from "../write.ts";

/** Responses are cached at the edges; a feed row makes every edge clear its cache. */
export function cacheHandlers(deps: ControlDeps): Pick<ServiceHandlers<typeof CatalogServiceService>, "clearCache"> {
  return {
    async clearCache(_request, context) {
      const actor = await requireAdmin(deps, context);
      return write(deps, context, { actor, codec: ClearCacheResponse, scopes: "catalog" }, async ({ tx, now, audit }) => {
        await appendChange(tx, { kind: "cache", subject: "all" }, now);
        await audit({ action: "cache.clear", target: "all" });
        return {};
      });
    },
  };
}
