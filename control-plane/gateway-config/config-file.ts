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
  /** Absent: there is no file, and never will be. */
  path: string | undefined;
  environment: Environment;
  store: Store;
  clock: Clock;
  logger: Logger;
  /** Models that the first start is about to put into the store. */
  namesToCome?: readonly string[];
}

/** The configuration in force. It changes without a restart, and only for one that is valid. */
export class GatewayConfigFile {
  readonly #options: Options;
  #current: GatewayConfig = NO_GATEWAY_CONFIG;
  #watched: readonly string[] = [];
  #stamp = "";
  /** Edges have been told of what is in force. */
  #announced = true;
  #running: Promise<void> | undefined;

  private constructor(options: Options) {
    this.#options = options;
  }

  /** Reads it for the first time: here a problem is the end of the start. */
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

  /** The job: looks at the times of the files, and reads them when one has changed. */
  async check(): Promise<void> {
    if (this.#options.path === undefined) return;
    if (this.#stampNow() !== this.#stamp) await this.reload();
    else if (!this.#announced) await this.#announce();
  }

  /** Reads it again, changed or not. Whoever asks while it is being read gets that reading's end. */
  reload(): Promise<void> {
    this.#running ??= this.#reload().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  async #reload(): Promise<void> {
    if (this.#options.path === undefined) return;
    // Before reading: what is written in between is seen by the next look.
    this.#stamp = this.#stampNow();
    try {
      this.#take(await this.#load());
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      this.#watch(error instanceof GatewayConfigError ? error.files : this.#watched);
      this.#options.logger.error({ problems: error.problems }, "the gateway configuration was refused; the one before stays in force");
      return;
    }
    this.#announced = false;
    await this.#announce();
    this.#options.logger.info({ deployments: this.#current.deployments.length }, "the gateway configuration was read again");
  }

  async #load(): Promise<GatewayConfig> {
    const { path = "", environment, store, clock, namesToCome = [] } = this.#options;
    const models = await collect(store.scan("models", { index: "byName" }));
    return loadGatewayConfig({ path, environment, catalogNames: [...models.map(({ name }) => name), ...namesToCome], now: clock.now() });
  }

  #take(config: GatewayConfig): void {
    const said = new Set(this.#current.warnings);
    for (const warning of config.warnings) {
      if (!said.has(warning)) this.#options.logger.warn({ warning }, "the gateway configuration has something without effect");
    }
    if (this.#current.files.length > 0 && config.masterKey !== this.#current.masterKey) {
      this.#options.logger.warn({}, "another general_settings.master_key takes effect at the next start");
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
    await store.transaction((tx) => appendChange(tx, { kind: "catalog", subject: "config" }, clock.now()));
    this.#announced = true;
  }

  /** Another set of files has another stamp, though none of them changed. */
  #watch(files: readonly string[]): void {
    const before = this.#watched;
    this.#watched = files;
    if (before.join("\n") !== files.join("\n")) this.#stamp = this.#stampNow();
  }

  #stampNow(): string {
    return this.#watched.map(stampOf).join("\n");
  }
}

// The inode too: whoever replaces a file by renaming may keep its time and size.
function stampOf(path: string): string {
  const found = statSync(path, { throwIfNoEntry: false });
  return found ? `${path} ${found.mtimeMs} ${found.size} ${found.ino}` : `${path} missing`;
}
