import { toJson } from "../../common/json.ts";
import type { ControlDeps } from "../services/deps.ts";
import { appendChange } from "../writes/feed.ts";

const SETTING = "configuration-hash";

type Deps = Pick<ControlDeps, "store" | "clock" | "secrets"> & {
  readonly gateway: Pick<ControlDeps["gateway"], "current">;
  readonly config: Pick<ControlDeps["config"], "serving" | "allowUnpricedModels" | "masterKey">;
};

/**
 * Appends a feed row at the start if file and environment give edges another configuration than the last announced one. The store has only
 * a keyed hash of it, because a configuration contains credentials. Returns whether it was another one.
 */
export async function announceConfiguration(deps: Deps): Promise<boolean> {
  const value = deps.secrets.tokenHash(`configuration ${toJson(effectiveConfiguration(deps))}`);
  return deps.store.transaction(["catalog", "settings"], async (tx) => {
    if ((await tx.get("settings", SETTING))?.value === value) return false;
    await tx.put("settings", { id: SETTING, value });
    await appendChange(tx, { kind: "catalog", subject: "config" }, deps.clock.now());
    return true;
  });
}

function effectiveConfiguration({ gateway, config }: Deps) {
  const { deployments, settings } = gateway.current;
  const { serving, allowUnpricedModels, masterKey } = config;
  // The time at which a file was read says nothing about its content.
  return { deployments: deployments.map(({ createdAt: _, ...rest }) => rest), settings, serving, allowUnpricedModels, masterKey };
}
