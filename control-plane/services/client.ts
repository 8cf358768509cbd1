import type { CallContext } from "../../common/grpc/server.ts";
import type { LimitedAction } from "../domain/address-limits.ts";
import { networkOf } from "../domain/client-network.ts";
import type { SessionClient } from "../domain/records.ts";
import type { ControlDeps } from "./deps.ts";

/** What limits by address count: the address of the client as the edge knows it, or its IPv6 network. */
export function clientAddress(context: CallContext): string {
  return networkOf(context.metadata["x-client-ip"] ?? "unknown");
}

/** The client, for the list of sessions. */
export function clientOf({ metadata }: CallContext): SessionClient {
  const { "x-client-ip": address, "x-user-agent": userAgent } = metadata;
  return { ...(address === undefined ? {} : { address }), ...(userAgent === undefined ? {} : { userAgent }) };
}

/** Counts an action of the client's address, and refuses it if there were too many in the last hour. */
export function limitByAddress(deps: ControlDeps, context: CallContext, action: LimitedAction): void {
  deps.addressLimits.take(action, clientAddress(context), deps.clock.monotonicMs());
}
