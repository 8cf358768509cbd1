import { usageError } from "../cli-error.ts";
import type { SettingsFiles, StoredCredentials } from "./files.ts";

const DEFAULT_API_URL = "http://127.0.0.1:4000";
const DEFAULT_PROFILE = "default";

/** Settings of `gw config set`. */
export const SETTING_NAMES = ["api-url", "trainer-url", "model", "team"] as const;
export type SettingName = (typeof SETTING_NAMES)[number];

const VARIABLES: Readonly<Record<SettingName, string>> = {
  "api-url": "GW_API_URL",
  "trainer-url": "GW_TRAINER_URL",
  model: "GW_MODEL",
  team: "GW_TEAM",
};

export interface SettingFlags {
  readonly profile?: string | undefined;
  readonly apiUrl?: string | undefined;
  readonly apiKey?: string | undefined;
}

export interface Resolved {
  readonly value: string;
  readonly from: string;
}

/** Resolved settings with their sources. Flags override the environment, which overrides the file, which overrides defaults. */
export interface Settings {
  readonly profile: string;
  readonly apiUrl: Resolved;
  get(name: SettingName): Resolved | undefined;
  readonly token: Resolved | undefined;
  readonly apiKey: Resolved | undefined;
  /** What a command sends that takes a token as well as a key: a key given by flag, or else the token. A key in the environment is for calls. */
  readonly tokenOrKey: "token" | "key";
  /** Stored credentials of this profile and API URL. */
  readonly stored: StoredCredentials | undefined;
  /** Updates the stored credentials of this profile and API URL; undefined removes a field. */
  store(change: { [Field in keyof StoredCredentials]?: StoredCredentials[Field] | undefined }): void;
}

export function resolveSettings(input: {
  flags: SettingFlags;
  env: Readonly<Record<string, string | undefined>>;
  files: SettingsFiles;
}): Settings {
  const { flags, env, files } = input;
  const config = files.readConfig();
  const profile = flags.profile || env["GW_PROFILE"] || config.profile || DEFAULT_PROFILE;
  const own = config.profiles?.[profile] ?? {};
  const get = (name: SettingName): Resolved | undefined => {
    const variable = VARIABLES[name];
    return first([name === "api-url" ? flags.apiUrl : undefined, "flag"], [env[variable], variable], [own[name], `profile ${profile}`]);
  };
  const given = get("api-url") ?? { value: DEFAULT_API_URL, from: "default" };
  const apiUrl = { value: plainUrl(given), from: given.from };
  // Read for every use: a refresh, also of another gw, replaces the token, and the token before it must not be sent again.
  const readStored = () => {
    const found = files.readCredentials().profiles?.[profile];
    return found?.apiUrl === apiUrl.value ? found : undefined;
  };
  return {
    profile,
    apiUrl,
    get,
    get token() {
      return first([env["GW_TOKEN"], "GW_TOKEN"], [readStored()?.token, `profile ${profile}`]);
    },
    apiKey: first([flags.apiKey, "flag"], [env["GW_API_KEY"], "GW_API_KEY"], [readStored()?.apiKey, `profile ${profile}`]),
    get tokenOrKey() {
      if (flags.apiKey) return "key";
      return env["GW_TOKEN"] || readStored()?.token ? "token" : "key";
    },
    get stored() {
      return readStored();
    },
    store: (change) => {
      const file = files.readCredentials();
      const before = file.profiles?.[profile];
      const next = { ...(before?.apiUrl === apiUrl.value ? before : {}), ...change, apiUrl: apiUrl.value };
      const credentials = Object.fromEntries(
        Object.entries(next).filter(([, value]) => value !== undefined),
      ) as unknown as StoredCredentials;
      files.writeCredentials({ ...file, profiles: { ...file.profiles, [profile]: credentials } });
    },
  };
}

function first(...candidates: [string | undefined, string][]): Resolved | undefined {
  for (const [value, from] of candidates) if (value) return { value, from };
  return undefined;
}

function plainUrl({ value, from }: Resolved): string {
  const url = URL.canParse(value) ? new URL(value) : undefined;
  if (!url || !/^https?:$/.test(url.protocol)) throw usageError(`${value} (${from}) is not an http or https URL.`);
  if (url.username || url.password) throw usageError(`The URL (${from}) must not contain a password.`, "Use gw auth login.");
  return `${url.origin}${url.pathname.replace(/(?<!\/)\/+$/, "")}`;
}
