import { mkdtempSync, renameSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Clock } from "../../../common/clock.ts";
import { systemRandom } from "../../../common/random.ts";
import { deriveSecrets } from "../../crypto/secrets.ts";
import type { Model } from "../../domain/records.ts";
import { GatewayConfigFile } from "../../gateway-config/config-file.ts";
import { collect } from "../../stores/page.ts";
import type { Store } from "../../stores/store.ts";
import { openTestStore } from "../../stores/test-store.ts";
import { addPrice } from "../../writes/catalog.ts";
import { settingsJson } from "../gateway/merged-settings.ts";
import { checkBaseUrl } from "./base-url.ts";
import { allDeployments, allModels, fileProviders, isOfFile } from "./merged-catalog.ts";

const NOW = Date.parse("2026-11-15T00:00:00Z");
let time = NOW;
const clock: Clock = { now: () => time, sleep: async () => {} } as unknown as Clock;
const secrets = deriveSecrets(Buffer.alloc(32, 1), systemRandom);

let folder: string;
let path: string;
let opened: ReturnType<typeof openTestStore>;
let logged: { fields: Record<string, unknown>; message: string }[];
let edits = 0;

beforeEach(() => {
  time = NOW;
  folder = mkdtempSync(join(tmpdir(), "tributary-merge-"));
  path = join(folder, "config.yaml");
  opened = openTestStore();
  logged = [];
});
afterEach(async () => {
  await opened.close();
  rmSync(folder, { recursive: true, force: true });
});

/** By renaming, with a time of its own: no two edits look alike, however fast the test is. */
function edit(name: string, text: string): void {
  const temporary = join(folder, "temporary");
  writeFileSync(temporary, text);
  utimesSync(temporary, new Date(NOW + ++edits * 1000), new Date(NOW + edits * 1000));
  renameSync(temporary, join(folder, name));
}

function open(): Promise<GatewayConfigFile> {
  const note = (fields: object, message: string) => void logged.push({ fields: fields as Record<string, unknown>, message });
  const logger = { debug: note, info: note, warn: note, error: note };
  return GatewayConfigFile.open({ path, environment: { KEY: "sk-upstream" }, store: opened.store, clock, logger });
}

const entry = (name: string, params: string) => `  - {model_name: ${name}, litellm_params: {${params}}}\n`;
const GPT = entry("gpt", "model: openai/gpt-4o, api_key: os.environ/KEY");

async function storeModel(store: Store, fields: Partial<Model>, price?: { input: bigint; output: bigint }): Promise<void> {
  await store.transaction("every", async (tx) => {
    const times = { createdAt: NOW, updatedAt: NOW };
    const sealedCredential = secrets.seal(Buffer.from("sk-stored"));
    if (!(await tx.get("providers", "prov_1"))) {
      await tx.insert("providers", { id: "prov_1", name: "Ours", nameKey: "ours", kind: "openai", sealedCredential, ...times });
    }
    const model: Model = {
      id: "model_1",
      name: "gpt",
      providerId: "prov_1",
      inferenceModelId: "gpt-4o",
      type: "chat",
      description: "",
      status: "active",
      ...times,
      ...fields,
    };
    await tx.insert("models", model);
    if (price) await addPrice(tx, model.id, price, NOW);
  });
}

const view = async (gateway: GatewayConfigFile) =>
  allDeployments({
    store: opened.store,
    clock,
    secrets,
    gateway,
    config: { allowUnpricedModels: false, serving: { urls: [], token: undefined, secret: undefined } },
  });
const changes = () => collect(opened.store.scan("feed"));

describe("the file and the store as one catalog", () => {
  test("the same name on both sides is one group with the deployments of both", async () => {
    edit("config.yaml", `model_list:\n${GPT}`);
    await storeModel(opened.store, {});
    const deployments = await view(await open());
    expect(deployments.map(({ modelName, dbModel, apiKey }) => [modelName, dbModel, apiKey])).toEqual([
      ["gpt", false, "sk-upstream"],
      ["gpt", true, "sk-stored"],
    ]);
  });

  test("the price of a name: the admin's, then the file's, then the list's", async () => {
    const own = entry("own", "model: openai/gpt-4o, api_key: k, input_cost_per_token: 1e-6, output_cost_per_token: 2e-6");
    const admin = entry("admin", "model: openai/gpt-4o, api_key: k, input_cost_per_token: 1e-6");
    const none = entry("none", "model: openai/made-here-last-week, api_key: k");
    edit("config.yaml", `model_list:\n${GPT}${own}${admin}${none}`);
    await storeModel(opened.store, { name: "admin", status: "disabled" }, { input: 7n, output: 8n });
    const prices = new Map((await view(await open())).map(({ modelName, model }) => [modelName, model?.pricing]));
    expect(prices.get("gpt")).toMatchObject({ version: 0, unit: "token", input: 2_500_000_000n, output: 10_000_000_000n });
    expect(prices.get("own")).toMatchObject({ version: 0, input: 1_000_000_000n, output: 2_000_000_000n });
    expect(prices.get("admin")).toMatchObject({ version: 1, input: 7n, output: 8n });
    expect(prices.get("none")).toBeUndefined();
  });

  test("an admin's rate limits of a name apply to every deployment of it, also while the admin's own is disabled", async () => {
    edit("config.yaml", `model_list:\n${GPT}${entry("e", "model: echo/echo, rpm: 5")}`);
    await storeModel(opened.store, { name: "gpt", status: "disabled", rpm: 3 });
    const limits = new Map((await view(await open())).map(({ modelName, model }) => [modelName, model?.limits]));
    expect(limits.get("gpt")).toEqual({ rpm: 3 });
    expect(limits.get("e")).toBeUndefined();
  });

  test("models and providers of the file are listed, with another source than the store's", async () => {
    edit("config.yaml", `model_list:\n${GPT}${entry("e", "model: echo/echo")}`);
    await storeModel(opened.store, { name: "stored" });
    const gateway = await open();
    const models = await allModels({ store: opened.store, clock, gateway }, undefined);
    expect(models.map(({ name, providerId, providerName, source }) => [name, providerId, providerName, source])).toEqual([
      ["gpt", "config_openai", "openai", "configuration"],
      ["e", "config_echo", "echo", "configuration"],
      ["stored", "prov_1", "Ours", "catalog"],
    ]);
    expect(models[0]).toMatchObject({ contextWindow: 128_000, maxOutputTokens: 16_384, type: "chat", status: "active" });
    expect(fileProviders(gateway.current)).toEqual([
      { id: "config_openai", name: "openai", kind: "openai", status: "unknown", modelCount: 1, source: "configuration" },
      { id: "config_echo", name: "echo", kind: "echo", status: "up", modelCount: 1, source: "configuration" },
    ]);
    expect(isOfFile(gateway.current, models[0]?.id ?? "")).toBe(true);
    expect(isOfFile(gateway.current, "prov_1")).toBe(false);
  });

  test("a key that is rotated in its file is in force after the next check; while the file is gone the key before stays", async () => {
    edit("key", "sk-first\n");
    edit("config.yaml", `model_list:\n${entry("gpt", `model: openai/gpt-4o, api_key_file: ${join(folder, "key")}`)}`);
    const gateway = await open();
    const keyNow = async () => (await view(gateway)).map(({ apiKey }) => apiKey);
    expect(await keyNow()).toEqual(["sk-first"]);
    rmSync(join(folder, "key"));
    await gateway.check();
    expect(await keyNow()).toEqual(["sk-first"]);
    expect(logged.at(-1)?.message).toMatch(/the previous one stays in force/);
    edit("key", "sk-second\n");
    await gateway.check();
    expect(await keyNow()).toEqual(["sk-second"]);
  });

  test("settings reach the edges without secrets", async () => {
    edit(
      "config.yaml",
      `model_list:\n${GPT}general_settings: {master_key: sk-0123456789abcdef}\nrouter_settings: {num_retries: 3}\n` +
        "litellm_settings: {drop_params: true, cache_params: {type: redis, host: h, password: hush, ttl: 5}}",
    );
    const text = await settingsJson({ gateway: await open(), store: opened.store });
    expect(JSON.parse(text)).toEqual({
      router_settings: { num_retries: 3 },
      litellm_settings: { drop_params: true, cache_params: { type: "redis", ttl: 5 } },
      general_settings: {},
    });
  });
});

describe("a change of the file", () => {
  test("takes effect without a restart and tells the edges; the same deployment keeps its age", async () => {
    edit("config.yaml", `model_list:\n${GPT}`);
    const gateway = await open();
    await gateway.check();
    expect(await changes()).toEqual([]);
    const [gpt] = gateway.current.deployments;
    edit("config.yaml", `model_list:\n${GPT}${entry("second", "model: echo/echo")}`);
    time = NOW + edits * 1000 + 5000;
    await gateway.check();
    expect(gateway.current.deployments.map(({ modelName, createdAt }) => [modelName, createdAt])).toEqual([
      ["gpt", gpt?.createdAt],
      ["second", time - 5000],
    ]);
    expect(await changes()).toEqual([expect.objectContaining({ kind: "catalog", subject: "config" })]);
    await gateway.check();
    expect(await changes()).toHaveLength(1);
  });

  test("is when its models were created, also after a restart; a time in the future or none at all is the start", async () => {
    const createdAt = async () => (await open()).current.deployments.map((deployment) => deployment.createdAt);
    edit("config.yaml", `model_list:\n${GPT}`);
    const writtenAt = NOW + edits * 1000;
    for (const later of [1, 3_600_000]) {
      time = writtenAt + later;
      expect(await createdAt()).toEqual([writtenAt]);
    }
    for (const stamp of [time + 1, 0]) {
      utimesSync(path, new Date(stamp), new Date(stamp));
      expect(await createdAt()).toEqual([time]);
    }
  });

  test("that is wrong changes nothing and is logged whole; mending it takes effect", async () => {
    edit("config.yaml", `model_list:\n${GPT}`);
    const gateway = await open();
    edit("config.yaml", `model_list:\n${entry("a", "model: nobody/x")}${entry("b", "api_key: k")}`);
    await gateway.check();
    expect(gateway.current.deployments.map(({ modelName }) => modelName)).toEqual(["gpt"]);
    expect(await changes()).toEqual([]);
    const refusal = logged.find(({ message }) => message.includes("is not valid"));
    expect(refusal?.fields["problems"]).toEqual([
      expect.stringContaining(`${path}:2: there is no provider "nobody"`),
      expect.stringContaining(`${path}:3: litellm_params.model is missing`),
    ]);
    edit("config.yaml", `model_list:\n${entry("mended", "model: echo/echo")}`);
    await gateway.check();
    expect(gateway.current.deployments.map(({ modelName }) => modelName)).toEqual(["mended"]);
  });

  test("of an included file counts too, also of one that was not there before", async () => {
    edit("config.yaml", `model_list:\n${GPT}`);
    const gateway = await open();
    edit("config.yaml", `include: [more.yaml]\nmodel_list:\n${GPT}`);
    await gateway.check();
    expect(logged.some(({ message }) => message.includes("is not valid"))).toBe(true);
    edit("more.yaml", `model_list:\n${entry("more", "model: echo/echo")}`);
    await gateway.check();
    edit("more.yaml", `model_list:\n${entry("other", "model: echo/echo")}`);
    await gateway.check();
    expect(gateway.current.deployments.map(({ modelName }) => modelName)).toEqual(["gpt", "other"]);
    expect(await changes()).toHaveLength(2);
  });

  test("can be asked for, as SIGHUP does; at the start a problem is the end", async () => {
    edit("config.yaml", `model_list:\n${GPT}`);
    const gateway = await open();
    await Promise.all([gateway.reload(), gateway.reload()]);
    expect(await changes()).toHaveLength(1);
    edit("config.yaml", "model_list: 7");
    await expect(open()).rejects.toThrow(/model_list must be a list/);
  });
});

describe("an upstream address that an admin sets", () => {
  test.each([
    ["openai", "https://api.openai.com/v1"],
    ["openai", undefined],
    ["ollama", "http://127.0.0.1:11434"],
    ["vllm", "http://10.0.0.7:8000/v1"],
    ["openai_compatible", "http://gpu:8000/v1"],
    ["openai", "https://172.15.0.1"],
  ])("%s at %s is fine", (kind, url) => {
    expect(() => checkBaseUrl(kind, url, false)).not.toThrow();
  });

  test.each([
    ["openai", "http://127.0.0.1:9000"],
    ["openai", "http://2130706433/"],
    ["openai", "http://[::1]/"],
    ["openai", "http://[::ffff:10.0.0.1]/"],
    ["anthropic", "https://intranet.internal"],
    ["openai", "http://localhost."],
    ["openai", "http://192.168.1.1"],
    ["ollama", "http://169.254.169.254/latest/meta-data"],
    ["vllm", "http://metadata.google.internal/"],
    ["openai", "file:///etc/passwd"],
    ["openai", "https://user:secret@example.org"],
    ["azure", undefined],
    ["openai_compatible", undefined],
  ])("%s at %s is refused", (kind, url) => {
    expect(() => checkBaseUrl(kind, url, false)).toThrow(/^The base URL/);
  });

  test("the operator may allow private ones, but never another protocol", () => {
    expect(() => checkBaseUrl("openai", "http://127.0.0.1:9000", true)).not.toThrow();
    expect(() => checkBaseUrl("openai", "gopher://127.0.0.1", true)).toThrow(/http or https/);
  });
});
