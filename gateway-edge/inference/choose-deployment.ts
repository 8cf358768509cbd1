import type { Deployment } from "../../proto/gen/tributary/access/v1/access.ts";
import type { Provider } from "../providers/provider.ts";

export interface Chosen {
  readonly deployment: Deployment;
  readonly provider: Provider;
}

/** The first deployment of a group whose provider we can speak to; undefined when there is none. */
export function chooseDeployment(deployments: readonly Deployment[], providers: ReadonlyMap<string, Provider>): Chosen | undefined {
  for (const deployment of deployments) {
    const provider = providers.get(deployment.providerKind);
    if (provider) return { deployment, provider };
  }
  return undefined;
}
