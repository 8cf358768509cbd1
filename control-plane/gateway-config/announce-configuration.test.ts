import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock as clock } from "../../common/clock.ts";
import { silentLogger as logger } from "../../common/logger.ts";
import { systemRandom } from "../../common/random.ts";
import { readControlConfig } from "../config.ts";
import { deriveSecrets } from "../crypto/secrets.ts";
import { collect } from "../stores/page.ts";
import { openTestStore } from "../stores/test-store.ts";
import { announceConfiguration } from "./announce-configuration.ts";
import { GatewayConfigFile } from "./config-file.ts";

const secrets = deriveSecrets(Buffer.alloc(32, 1), systemRandom);
const PROVIDER_KEY = "sk-provider-key-of-the-first-start";

const FILE = `model_list:
  - model_name: fresh
    litellm_params:
      model: openai/gpt-4o
      api_key: os.environ/KEY
      input_cost_per_token: PRICE
`;

let opened: ReturnType<typeof openTestStore>;
let folder: string;
beforeEach(() => {
  opened = openTestStore();
  folder = mkdtempSync(join(tmpdir(), "tributary-announce-"));
});
afterEach(async () => {
  await opened.close();
  rmSync(folder, { recursive: true, force: true });
});

/** What a control plane does at its start. */
async function start({ price = "0.000001", key = PROVIDER_KEY, env = {} }: { price?: string; key?: string; env?: Record<string, string> }) {
  const path = join(folder, "config.yaml");
  writeFileSync(path, FILE.replace("PRICE", price));
  const { store } = opened;
  const gateway = await GatewayConfigFile.open({ path, environment: { KEY: key }, store, clock, logger });
  return announceConfiguration({ store, clock, secrets, gateway, config: readControlConfig(env) });
}

const announced = async () => (await collect(opened.store.scan("feed"))).map(({ kind, subject }) => `${kind}/${subject}`);

test("a configuration is announced at the start if it is not the one that was announced last", async () => {
  const other = { key: "sk-rotated", env: { SERVING_URLS: "http://127.0.0.1:7777" } };
  expect(await start({})).toBe(true);
  expect(await start({})).toBe(false);
  expect(await start({ price: "0.000002" })).toBe(true);
  expect(await start({ price: "0.000002", key: "sk-rotated" })).toBe(true);
  expect(await start({ price: "0.000002", ...other })).toBe(true);
  expect(await start({ price: "0.000002", ...other })).toBe(false);
  expect(await start({})).toBe(true);
  expect(await announced()).toEqual(Array.from({ length: 5 }, () => "catalog/config"));
});

test("the store has a hash of the configuration, and none of its credentials", async () => {
  await start({});
  const settings = await collect(opened.store.scan("settings"));
  expect(settings).toEqual([{ id: "configuration-hash", value: expect.stringMatching(/^[0-9a-f]{64}$/) }]);
  expect(JSON.stringify(settings)).not.toContain(PROVIDER_KEY);
});
