import type { Principal } from "../../upstream/routing/principal.ts";
import type { Router } from "../../upstream/routing/route.ts";

/** What the model list and the check of a call read from the router. */
export type ModelDirectory = Pick<Router, "names" | "candidates" | "groupOf" | "fallbacksOf" | "accessGroups">;

/**
 * Whether a principal may use what a name stands for: the name itself, the group behind an alias or a deployment's id, or deployments of it
 * by an access group. The model lists of its key and its team must both allow it. False where the model does not exist.
 */
export function mayUseModel(principal: Principal, model: string, directory: Pick<ModelDirectory, "candidates">): boolean {
  return directory.candidates(model, principal).length > 0;
}
