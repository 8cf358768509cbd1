import type { Clock } from "../../common/clock.ts";
import type { Logger } from "../../common/logger.ts";

interface NamedDeployment {
  readonly id: string;
  readonly modelName: string;
}

export interface DeploymentModelsOptions {
  readonly clock: Pick<Clock, "monotonicMs">;
  readonly logger: Logger;
  /** All of them, from the store and the configuration. */
  readonly read: () => Promise<readonly NamedDeployment[]>;
}

/** Names change seldom, and deployments come seldom. */
const LIFE_MS = 30_000;

/** The models of deployments by their configured names, which rows of calls by alias, wildcard or deployment id do not have. */
export class DeploymentModels {
  readonly #options: DeploymentModelsOptions;
  #models: Promise<ReadonlyMap<string, string>> | undefined;
  #readAtMs = 0;

  constructor(options: DeploymentModelsOptions) {
    this.#options = options;
  }

  async modelOf(deploymentId: string): Promise<string | undefined> {
    const now = this.#options.clock.monotonicMs();
    if (!this.#models || now - this.#readAtMs >= LIFE_MS) {
      this.#models = this.#read();
      this.#readAtMs = now;
    }
    return (await this.#models).get(deploymentId);
  }

  async #read(): Promise<ReadonlyMap<string, string>> {
    try {
      return new Map((await this.#options.read()).map(({ id, modelName }) => [id, modelName]));
    } catch (error) {
      this.#options.logger.warn(
        { err: error },
        "deployments could not be read; answers of calls by alias do not count under limits of models",
      );
      return new Map();
    }
  }
}
