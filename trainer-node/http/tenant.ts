import type { Request } from "express";

const TENANT = "x-gw-tenant";
const PREFIX = "x-forwarded-prefix";
const PLAIN_PATH = /^(?:\/[A-Za-z0-9_-]{1,100}){1,8}$/;

/**
 * The organization for which the gateway forwards a call to a shared node; empty for a direct caller. The gateway sets the header itself,
 * and a caller that reaches the node directly is the operator or has the node's token.
 */
export function tenantOf(request: Request): string {
  return request.get(TENANT) ?? "";
}

/** A name that a caller chose, prefixed with its tenant: the same name of another tenant is a different thing. */
export function withinTenant(request: Request, name: string): string {
  return scopeOf(tenantOf(request)) + name;
}

/** The names of this caller among stored names, without their tenant prefix. */
export function ofTenant(request: Request, names: readonly string[]): readonly string[] {
  const scope = scopeOf(tenantOf(request));
  return scope === "" ? names : names.flatMap((name) => (name.startsWith(scope) ? [name.slice(scope.length)] : []));
}

/** A path of this node as the caller reaches it, with the prefix of a gateway between them. */
export function asCalled(request: Request, path: string): string {
  const prefix = request.get(PREFIX) ?? "";
  return PLAIN_PATH.test(prefix) ? prefix + path : path;
}

function scopeOf(tenant: string): string {
  return tenant === "" ? "" : `${tenant}\n`;
}
