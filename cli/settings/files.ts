import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { usageError } from "../cli-error.ts";

/** Settings per profile. */
export interface ConfigFile {
  profile?: string;
  profiles?: Record<string, Record<string, string>>;
}

/** Secrets per profile. They are sent only to `apiUrl`. */
export interface StoredCredentials {
  apiUrl: string;
  email?: string;
  token?: string;
  /** ISO 8601. */
  expiresAt?: string;
  obtainedAt?: string;
  apiKey?: string;
}

export interface CredentialsFile {
  profiles?: Record<string, StoredCredentials>;
}

export interface SettingsFiles {
  readonly folder: string;
  readConfig(): ConfigFile;
  writeConfig(config: ConfigFile): void;
  readCredentials(): CredentialsFile;
  writeCredentials(credentials: CredentialsFile): void;
}

export function settingsFiles(env: Readonly<Record<string, string | undefined>>): SettingsFiles {
  const folder = env["GW_CONFIG_DIR"] || join(env["XDG_CONFIG_HOME"] || join(env["HOME"] || homedir(), ".config"), "gw");
  return {
    folder,
    readConfig: () => readJson(join(folder, "config.json")),
    writeConfig: (config) => writeJson(folder, "config.json", config),
    readCredentials: () => readJson(join(folder, "credentials.json")),
    writeCredentials: (credentials) => writeJson(folder, "credentials.json", credentials),
  };
}

function readJson<File extends object>(path: string): File {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch {
    return {} as File;
  }
  try {
    return JSON.parse(text) as File;
  } catch {
    throw usageError(`${path} is not valid JSON.`, "Fix it or delete it.");
  }
}

/** Writes by rename, so that a concurrent gw reads either the old or the new file; mode 0600 hides both from other users. */
function writeJson(folder: string, name: string, value: object): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const temporary = join(folder, `.${name}.${process.pid}`);
  try {
    writeFileSync(temporary, `${JSON.stringify(value, null, 2)}\n`, { mode: 0o600 });
    renameSync(temporary, join(folder, name));
  } finally {
    rmSync(temporary, { force: true });
  }
}
