import type { Deployment } from "../../proto/gen/tributary/access/v1/access.ts";
import type { Fields, ProviderTarget } from "./providers/provider.ts";

const targets = new WeakMap<Deployment, ProviderTarget>();

/** What an adapter may know of a deployment. */
export function targetOf(deployment: Deployment): ProviderTarget {
  const known = targets.get(deployment);
  if (known) return known;
  const { inferenceModelId, baseUrl, apiKey } = deployment;
  const target: ProviderTarget = {
    inferenceModelId,
    baseUrl,
    apiKey,
    params: fieldsIn(deployment.params),
    info: fieldsIn(deployment.info),
  };
  targets.set(deployment, target);
  return target;
}

function fieldsIn(json: string): Fields {
  return JSON.parse(json || "{}") as Fields;
}
