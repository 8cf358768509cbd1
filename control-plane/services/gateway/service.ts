import type { ServiceHandlers } from "../../../common/grpc/server.ts";
import type { GatewayServiceService } from "../../../proto/gen/tributary/gateway/v1/gateway.ts";
import type { ControlDeps } from "../deps.ts";
import { cacheSettingHandlers } from "./cache-settings.ts";
import { guardrailHandlers } from "./guardrails.ts";
import { routingHandlers } from "./routing.ts";

/** Settings of the gateway that platform admins store, beside those of the configuration file. */
export function gatewayHandlers(deps: ControlDeps): ServiceHandlers<typeof GatewayServiceService> {
  return { ...guardrailHandlers(deps), ...cacheSettingHandlers(deps), ...routingHandlers(deps) };
}
