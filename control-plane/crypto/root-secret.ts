import { closeSync, fsyncSync, mkdirSync, openSync, readFileSync, writeSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Random } from "../../common/random.ts";
import type { ControlConfig } from "../config.ts";
import type { RootKeys } from "./keyring.ts";
import { deriveSecrets } from "./secrets.ts";

/** The keys of SECRET_KEY and SECRET_KEY_PREVIOUS. */
export function loadRootKeys(config: Pick<ControlConfig, "secretKey" | "secretKeyPrevious" | "dataDir">, random: Random): RootKeys {
  const { secretKey: given, secretKeyPrevious: previous, dataDir } = config;
  return {
    wanted: deriveSecrets(loadRootSecret({ given, folder: resolve(dataDir), random }), random),
    previous: previous === undefined ? undefined : deriveSecrets(Buffer.from(previous, "utf8"), random),
  };
}

/** The operator's secret, or one generated at the first start and stored in the data folder, outside the store. */
export function loadRootSecret(options: { given: string | undefined; folder: string; random: Random }): Buffer {
  if (options.given !== undefined) return Buffer.from(options.given, "utf8");
  const path = join(options.folder, "secret.key");
  mkdirSync(options.folder, { recursive: true, mode: 0o700 });
  try {
    // "wx": a second process finds the file and reads it.
    const file = openSync(path, "wx", 0o600);
    writeSync(file, `${options.random.bytes(32).toString("hex")}\n`);
    fsyncSync(file);
    closeSync(file);
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code !== "EEXIST") throw thrown;
  }
  return Buffer.from(readFileSync(path, "utf8").trim(), "utf8");
}
