import type { Principal } from "../../upstream/routing/principal.ts";
import type { Router } from "../../upstream/routing/route.ts";

/** What the list of models and the check of a call both ask of the router. */
export type ModelDirectory = Pick<Router, "names" | "candidates" | "groupOf" | "fallbacksOf" | "accessGroups">;

/**
 * Whether a principal may use what a name stands for: the name itself, the group behind an alias or a deployment's id, or deployments of it by
 * an access group, as the lists of its key and of its team both say. False where there is no such model.
 */
export function mayUseModel(principal: Principal, model: string, directory: Pick<ModelDirectory, "candidates">): boolean {
  return directory.candidates(model, principal).length > 0;
}
