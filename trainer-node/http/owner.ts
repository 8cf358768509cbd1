import type { Request } from "express";
import { isLoopback } from "./access.ts";

/**
 * Whether a caller may read messages of functions' exceptions: it calls from the node's own machine and for no tenant, as coordinators and
 * gateways do. Whoever cannot be told from them is not the owner, unless the operator allows the messages to all callers.
 */
export function isOwner(request: Request, { exceptions = "owner" }: { readonly exceptions?: "owner" | "all" | undefined }): boolean {
  if (exceptions === "all") return true;
  const isProxied = request.get("x-gw-tenant") !== undefined || request.get("x-forwarded-for") !== undefined;
  // A request whose body was refused on the way has no socket any more.
  const { remoteAddress } = (request.socket as typeof request.socket | null) ?? {};
  return isLoopback(remoteAddress) && !isProxied;
}
