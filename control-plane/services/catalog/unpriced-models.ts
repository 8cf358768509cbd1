import { findModelData } from "../../../common/model-data/model-data.ts";
import { unpricedText } from "../../../common/model-data/unpriced.ts";
import type { Deployment } from "../../../proto/gen/tributary/access/v1/access.ts";
import type { GatewayConfig } from "../../gateway-config/gateway-config.ts";
import type { ControlDeps } from "../deps.ts";
import { allDeployments } from "./merged-catalog.ts";

type Deps = Pick<ControlDeps, "store" | "clock" | "secrets" | "gateway" | "config" | "logger">;

/** Logs a warning for each model that cannot be called because it has no price: at the start, and whenever the configuration changes. */
export class UnpricedModels {
  readonly #deps: Deps;
  readonly #named = new Set<string>();
  #seen: GatewayConfig | undefined;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  async check(): Promise<void> {
    const { gateway, logger } = this.#deps;
    const { current } = gateway;
    if (current === this.#seen) return;
    const unpriced = (await allDeployments(this.#deps)).filter(isUnpriced);
    this.#seen = current;
    for (const { modelName, providerKind, inferenceModelId } of unpriced) {
      if (this.#named.has(modelName)) continue;
      this.#named.add(modelName);
      logger.warn({ model: modelName, provider: providerKind, inferenceModelId }, unpricedText(modelName));
    }
  }
}

/** Models of a wildcard are priced when they are called; moderation is free. */
function isUnpriced({ model, providerKind, inferenceModelId }: Deployment): boolean {
  if (!model || model.pricing || model.type === "moderation" || inferenceModelId.includes("*")) return false;
  return findModelData({ kind: providerKind, model: inferenceModelId })?.pricing === undefined;
}
