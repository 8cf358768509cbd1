import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type FakeServer, startFakeServer } from "./http/server-fixture.ts";
import { gwWith } from "./io-fixture.ts";
import { settingsFiles } from "./settings/files.ts";

let server: FakeServer;
let folder: string;
let sent: (string | undefined)[];
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "gw-context-"));
  sent = [];
  server = await startFakeServer(({ headers }) => {
    sent.push(headers.authorization);
    return { body: { edges: [], trainers: [] } };
  });
});
afterEach(() => {
  server.stop();
  rmSync(folder, { recursive: true });
});

interface Given {
  readonly flag?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly stored?: { token?: string; apiKey?: string };
}

async function credentialOf({ flag, env = {}, stored }: Given, command: readonly string[]): Promise<string | undefined> {
  const folders = { XDG_CONFIG_HOME: folder };
  if (stored) settingsFiles(folders).writeCredentials({ profiles: { default: { apiUrl: server.url, ...stored } } });
  const words = [...command, ...(flag === undefined ? [] : ["--api-key", "-"])];
  const { exit, err } = await gwWith(words, { env: { ...folders, GW_API_URL: server.url, ...env }, stdin: flag ?? "" });
  if (exit !== 0) throw new Error(err);
  return sent.at(-1);
}

const loggedIn = { token: "token-of-profile" };

describe.each([[["admin", "system"]], [["api", "GET", "/training/nodes"]]])("gw %j, which takes a token or a key", (command) => {
  test.each<[string, Given, string]>([
    ["a key by flag before a token of the profile", { flag: "key-of-flag", stored: loggedIn }, "key-of-flag"],
    ["a key by flag before a token of the environment", { flag: "key-of-flag", env: { GW_TOKEN: "token-of-env" } }, "key-of-flag"],
    [
      "a key by flag before all others",
      { flag: "key-of-flag", env: { GW_TOKEN: "token-of-env", GW_API_KEY: "key-of-env" }, stored: loggedIn },
      "key-of-flag",
    ],
    ["a token of the profile before a key of the environment", { env: { GW_API_KEY: "key-of-env" }, stored: loggedIn }, "token-of-profile"],
    ["a key of the environment where there is no token", { env: { GW_API_KEY: "key-of-env" } }, "key-of-env"],
    ["of the environment, the token", { env: { GW_API_KEY: "key-of-env", GW_TOKEN: "token-of-env" } }, "token-of-env"],
    ["of the profile, the token", { stored: { ...loggedIn, apiKey: "key-of-profile" } }, "token-of-profile"],
    ["a token of the environment before a key of the profile", { env: { GW_TOKEN: "t" }, stored: { apiKey: "key-of-profile" } }, "t"],
    ["the key of the profile where there is no token", { stored: { apiKey: "key-of-profile" } }, "key-of-profile"],
  ])("sends %s", async (_name, given, expected) => {
    expect(await credentialOf(given, command)).toBe(`Bearer ${expected}`);
  });
});

test("a command of a person sends the token, whatever key is given", async () => {
  expect(await credentialOf({ flag: "key-of-flag", stored: loggedIn }, ["auth", "me"])).toBe("Bearer token-of-profile");
});
