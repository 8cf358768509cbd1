import type { Request } from "express";

/** The header that names the organization a call is made for. */
export const TENANT_HEADER = "x-gw-tenant";
const PREFIX = "x-forwarded-prefix";
const PLAIN_PATH = /^(?:\/[A-Za-z0-9_-]{1,100}){1,8}$/;

/** The tenant of all callers without the token of a node that has one. IDs of organizations begin with `org_`. */
const ANONYMOUS = "anonymous";

const anonymous = new WeakSet<Request>();

/** Makes the caller anonymous, whatever tenant its headers name. */
export function setAnonymous(request: Request): void {
  anonymous.add(request);
}

/**
 * The organization for which the gateway forwards a call to a shared node; empty for the operator. Only callers with the node's token or
 * signature can name a tenant, and on a node without token and secret every caller.
 */
export function tenantOf(request: Request): string {
  return anonymous.has(request) ? ANONYMOUS : (request.get(TENANT_HEADER) ?? "");
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
