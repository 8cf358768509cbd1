import type { Resolve } from "../../../common/checked-lookup.ts";
import { createGuard, type Guard } from "../../../common/outbound.ts";
import { placeOf } from "../../../common/place.ts";
import { findKind } from "../../../common/providers/shared/registry.ts";
import type { Deployment } from "../../../proto/gen/tributary/access/v1/access.ts";
import { targetOf } from "../target.ts";

export interface UpstreamGuard {
  /** The guard of the connections to an origin. */
  guardFor(origin: string): Guard;
  update(deployments: readonly Deployment[]): void;
}

/**
 * Which addresses providers may have. Link-local addresses are always refused. Private addresses are allowed where the operator says so:
 * with ALLOW_PRIVATE_UPSTREAMS, for kinds that run on the operator's machines, and for a private address in the configuration file. A
 * public name that resolves to a private address is none of these.
 */
export function createUpstreamGuard({ allowPrivate, resolve }: { allowPrivate: boolean; resolve?: Resolve }): UpstreamGuard {
  const open = createGuard({ allowPrivate: true, resolve });
  const strict = createGuard({ allowPrivate: false, resolve });
  let privateOrigins: ReadonlySet<string> = new Set();
  return {
    guardFor: (origin) => (allowPrivate || privateOrigins.has(origin) ? open : strict),
    update: (deployments) => {
      privateOrigins = new Set(deployments.flatMap(privateOrigin));
    },
  };
}

/** The origin of a deployment, if it may be private. */
function privateOrigin(deployment: Deployment): string[] {
  const { providerKind, baseUrl, dbModel } = deployment;
  const kind = findKind(providerKind);
  const endpoint = targetOf(deployment).params["aws_bedrock_runtime_endpoint"];
  const url = URL.parse(baseUrl ?? (typeof endpoint === "string" ? endpoint : kind?.baseUrl) ?? "");
  if (!url) return [];
  return kind?.isLocal || (!dbModel && placeOf(url.hostname) === "private") ? [url.origin] : [];
}
