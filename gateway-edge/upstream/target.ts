import type { Deployment } from "../../proto/gen/tributary/access/v1/access.ts";
import type { Fields, ProviderTarget, UpstreamRequest } from "./providers/provider.ts";
import { upstreamTls } from "./transports/tls-identity.ts";

const targets = new WeakMap<Deployment, ProviderTarget>();

/** What an adapter may know of a deployment. */
export function targetOf(deployment: Deployment): ProviderTarget {
  const known = targets.get(deployment);
  if (known) return known;
  const { inferenceModelId, baseUrl, apiKey, tls } = deployment;
  const target: ProviderTarget = {
    inferenceModelId,
    baseUrl,
    apiKey,
    params: fieldsIn(deployment.params),
    info: fieldsIn(deployment.info),
    ...(tls === undefined ? undefined : { tls: upstreamTls({ ca: tls.ca, cert: tls.clientCertificate, key: tls.clientKey }) }),
  };
  targets.set(deployment, target);
  return target;
}

/** A request for the server of a target, with the certificates that are set for it. */
export function toTarget(
  request: UpstreamRequest,
  { tls, isClientAddress }: Pick<ProviderTarget, "tls" | "isClientAddress">,
): UpstreamRequest {
  return tls === undefined && isClientAddress === undefined ? request : { ...request, tls, isClientAddress };
}

function fieldsIn(json: string): Fields {
  return JSON.parse(json || "{}") as Fields;
}
