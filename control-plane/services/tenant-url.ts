import { AppError } from "../../common/errors.ts";
import { placeOf } from "../../common/place.ts";

export interface TenantUrlRule {
  readonly allowPrivate: boolean;
  /** The subject of error messages. */
  readonly what: string;
  /** The field of the body; absent: `url`. */
  readonly field?: string;
  /** The setting with which the operator allows private addresses. */
  readonly setting: string;
}

/** Checks an address that a tenant chose, in a field of the body. The addresses that its name resolves to are checked at each connection. */
export function checkTenantUrl(given: string, rule: TenantUrlRule): string {
  const { allowPrivate, setting } = rule;
  const url = URL.canParse(given) ? new URL(given) : refuse(rule, "must be an https address");
  if (url.protocol !== "https:" && !(allowPrivate && url.protocol === "http:")) refuse(rule, "must be an https address");
  if (url.username !== "" || url.password !== "") refuse(rule, "must not hold a user name or password");
  const place = placeOf(url.hostname);
  if (place === "link-local" || (place === "private" && !allowPrivate))
    refuse(rule, `must be a public address; the operator can allow private ones with ${setting}=true`);
  url.hash = "";
  return url.href;
}

function refuse({ what, field = "url" }: TenantUrlRule, message: string): never {
  throw new AppError("VALIDATION_ERROR", `${what} ${message}.`, { details: [{ path: `body.${field}`, message }] });
}
