import type { Caller } from "../../proto/gen/tributary/access/v1/access.ts";
import type { Router } from "../routing/route.ts";
import { mayUse } from "./admit.ts";

/** What the list of models and the check of a call both ask of the router. */
export type ModelDirectory = Pick<Router, "names" | "candidates" | "groupOf" | "fallbacksOf" | "accessGroups">;

/**
 * Whether a caller may use what a name stands for: the name itself, the group behind an alias or a deployment's id, or an access group
 * that the key lists and the group is in. False where there is no such model.
 */
export function mayUseModel(
  caller: Caller,
  model: string,
  directory: Pick<ModelDirectory, "groupOf" | "accessGroups">,
  asker: { teamId: string } = caller,
): boolean {
  const group = directory.groupOf(model, asker);
  if (!group) return false;
  if (mayUse(caller, model) || mayUse(caller, group.name)) return true;
  const groups = directory.accessGroups();
  return caller.models?.names.some((name) => groups.get(name)?.has(group.configuredName)) ?? false;
}
