import { statSync } from "node:fs";
import type { Clock } from "../../common/clock.ts";
import { ConfigError } from "../../common/config.ts";
import type { Logger } from "../../common/logger.ts";
import { collect } from "../stores/page.ts";
import type { Store } from "../stores/store.ts";
import { appendChange } from "../writes/feed.ts";
import type { Environment } from "./environment.ts";
import { type GatewayConfig, NO_GATEWAY_CONFIG } from "./gateway-config.ts";
import { GatewayConfigError, loadGatewayConfig } from "./load.ts";

interface Options {
  /** Absent: no file is configured. */
  path: string | undefined;
  environment: Environment;
  store: Store;
  clock: Clock;
  logger: Logger;
  /** Models that the first start is about to create in the store. */
  namesToCreate?: readonly string[];
}

/** The gateway configuration in force. A changed file replaces it without a restart, if it is valid. */
export class GatewayConfigFile {
  readonly #options: Options;
  #current: GatewayConfig = NO_GATEWAY_CONFIG;
  #watched: readonly string[] = [];
  #stamp = "";
  /** The feed has a row for the configuration in force. */
  #announced = true;
  #running: Promise<void> | undefined;

  private constructor(options: Options) {
    this.#options = options;
  }

  /** Reads the file for the first time. Throws on a problem, which ends the start. */
  static async open(options: Options): Promise<GatewayConfigFile> {
    const file = new GatewayConfigFile(options);
    if (options.path !== undefined) {
      file.#watched = [options.path];
      file.#stamp = file.#stampNow();
      file.#take(await file.#load());
    }
    return file;
  }

  get current(): GatewayConfig {
    return this.#current;
  }

  /** Run by a job: reads the files if the modification time of one has changed. */
  async check(): Promise<void> {
    if (this.#options.path === undefined) return;
    if (this.#stampNow() !== this.#stamp) await this.reload();
    else if (!this.#announced) await this.#announce();
  }

  /** Reads the file again, changed or not. Calls during a reload share it. */
  reload(): Promise<void> {
    this.#running ??= this.#reload().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  async #reload(): Promise<void> {
    if (this.#options.path === undefined) return;
    // Stamped before reading, so that a write in between is found by the next check.
    this.#stamp = this.#stampNow();
    try {
      this.#take(await this.#load());
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      this.#watch(error instanceof GatewayConfigError ? error.files : this.#watched);
      this.#options.logger.error({ problems: error.problems }, "the gateway configuration is not valid; the previous one stays in force");
      return;
    }
    this.#announced = false;
    await this.#announce();
    this.#options.logger.info({ deployments: this.#current.deployments.length }, "the gateway configuration was reloaded");
  }

  async #load(): Promise<GatewayConfig> {
    const { path = "", environment, store, clock, namesToCreate = [] } = this.#options;
    const models = await collect(store.scan("models", { index: "byName" }));
    const catalogNames = [...models.map(({ name }) => name), ...namesToCreate];
    const writtenAt = statSync(path, { throwIfNoEntry: false })?.mtimeMs;
    return loadGatewayConfig({ path, environment, catalogNames, now: clock.now(), ...(writtenAt !== undefined && { writtenAt }) });
  }

  #take(config: GatewayConfig): void {
    const logged = new Set(this.#current.warnings);
    for (const warning of config.warnings) {
      if (!logged.has(warning)) this.#options.logger.warn({ warning }, "a setting of the gateway configuration has no effect");
    }
    if (this.#current.files.length > 0 && config.masterKey !== this.#current.masterKey) {
      this.#options.logger.warn({}, "general_settings.master_key was changed; the new key takes effect at the next start");
    }
    const born = new Map(this.#current.deployments.map(({ id, createdAt }) => [id, createdAt]));
    const deployments = config.deployments.map((deployment) => ({
      ...deployment,
      createdAt: born.get(deployment.id) ?? deployment.createdAt,
    }));
    this.#current = { ...config, deployments };
    this.#watch(config.files);
  }

  async #announce(): Promise<void> {
    const { store, clock } = this.#options;
    await store.transaction("catalog", (tx) => appendChange(tx, { kind: "catalog", subject: "config" }, clock.now()));
    this.#announced = true;
  }

  /** Another set of files has another stamp, even if no file changed. */
  #watch(files: readonly string[]): void {
    const before = this.#watched;
    this.#watched = files;
    if (before.join("\n") !== files.join("\n")) this.#stamp = this.#stampNow();
  }

  #stampNow(): string {
    return this.#watched.map(stampOf).join("\n");
  }
}

// Includes the inode, because a file replaced by renaming may have the same time and size.
function stampOf(path: string): string {
  const found = statSync(path, { throwIfNoEntry: false });
  return found ? `${path} ${found.mtimeMs} ${found.size} ${found.ino}` : `${path} missing`;
}
