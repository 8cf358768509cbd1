import { AppError } from "../../../common/errors.ts";
import { placeOf } from "../../../common/place.ts";
import { findKind } from "../../../common/providers/shared/registry.ts";

/**
 * Refuses an upstream address that a platform admin must not reach through the gateway. Only the address itself is checked; the edge
 * refuses a name that resolves to a private address when it connects. Addresses of the configuration file are the operator's and are not
 * checked. Private addresses are allowed where the deployment is not exposed, or with ALLOW_PRIVATE_UPSTREAMS.
 */
export function checkBaseUrl(kind: string, baseUrl: string | undefined, allowPrivate: boolean): void {
  const facts = findKind(kind);
  if (baseUrl === undefined) {
    if (facts?.needsBaseUrl) refuse(`is required for a provider of the kind ${kind}`);
    return;
  }
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : refuse("must be an http or https address");
  if (url.protocol !== "http:" && url.protocol !== "https:") refuse("must be an http or https address");
  if (url.username !== "" || url.password !== "") refuse("must not hold a user name or password; use apiKey");
  const place = placeOf(url.hostname);
  if (place === "link-local") refuse("must not be a link-local address");
  if (place === "private" && !facts?.isLocal && !allowPrivate) {
    refuse("is a private address; only an operator can allow it, with ALLOW_PRIVATE_UPSTREAMS=true");
  }
}

function refuse(message: string): never {
  throw new AppError("VALIDATION_ERROR", `The base URL ${message}.`, { details: [{ path: "body.baseUrl", message }] });
}
