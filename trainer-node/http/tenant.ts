import type { Request } from "express";

const TENANT = "x-gw-tenant";
const PREFIX = "x-forwarded-prefix";
const PLAIN_PATH = /^(?:\/[A-Za-z0-9_-]{1,100}){1,8}$/;

/**
 * The organisation whose call the gateway passes on to a node that several share; empty for a caller that came by itself. The gateway lets nobody
 * else name one, and who calls the node without it is the operator or has the node's token.
 */
export function tenantOf(request: Request): string {
  return request.get(TENANT) ?? "";
}

/** What a caller chose the name of, as the node keeps it: the same name of another tenant is another thing. */
export function withinTenant(request: Request, name: string): string {
  return scopeOf(tenantOf(request)) + name;
}

/** Of names as the node keeps them, those of this caller, as it gave them. */
export function ofTenant(request: Request, names: readonly string[]): readonly string[] {
  const scope = scopeOf(tenantOf(request));
  return scope === "" ? names : names.flatMap((name) => (name.startsWith(scope) ? [name.slice(scope.length)] : []));
}

/** A path of this node as the caller reaches it, where a gateway is between them. */
export function asCalled(request: Request, path: string): string {
  const prefix = request.get(PREFIX) ?? "";
  return PLAIN_PATH.test(prefix) ? prefix + path : path;
}

function scopeOf(tenant: string): string {
  return tenant === "" ? "" : `${tenant}\n`;
}
