import type { ServiceHandlers } from "../../../common/grpc/server.ts";
import type { GatewayServiceService } from "../../../proto/gen/tributary/gateway/v1/gateway.ts";
import type { ControlDeps } from "../deps.ts";
import { guardrailHandlers } from "./guardrails.ts";

/** Settings of the gateway that platform admins store, beside those of the configuration file. */
export function gatewayHandlers(deps: ControlDeps): ServiceHandlers<typeof GatewayServiceService> {
  return guardrailHandlers(deps);
}
