import { deployment, FakeControl, MASTER_KEY, startEdge, type TestEdge } from "../testing/edge-fixture.ts";

const SECRETS = [
  "sk-upstream-key",
  "aws-secret-value",
  "session-token-value",
  "header-value",
  "user:pass",
  "AKIAEXAMPLE",
  "tokenizer-token",
];

let edge: TestEdge;
let control: FakeControl;

beforeEach(async () => {
  control = new FakeControl();
  control.deployments = [
    deployment({
      modelName: "smart",
      id: "dep_1",
      providerKind: "openai",
      inferenceModelId: "gpt-4o",
      apiKey: "sk-upstream-key",
      baseUrl: "https://user:pass@upstream.example/v1?api_key=sk-upstream-key",
      params: JSON.stringify({
        rpm: 10,
        tpm: 1000,
        weight: 2,
        order: 1,
        tags: ["paid"],
        timeout: 30,
        max_tokens: 99,
        api_key: "sk-upstream-key",
        aws_secret_access_key: "aws-secret-value",
        aws_session_token: "session-token-value",
        vertex_credentials: { private_key: "aws-secret-value" },
        extra_headers: { "x-org": "header-value", authorization: "Bearer sk-upstream-key" },
        note: "AKIAEXAMPLE",
      }),
      info: JSON.stringify({
        mode: "chat",
        supports_vision: false,
        max_input_tokens: 1234,
        tier: "paid",
        access_groups: ["g"],
        custom_tokenizer: { identifier: "x/y", auth_token: "tokenizer-token" },
      }),
      dbModel: true,
    }),
    deployment({ modelName: "smart", id: "dep_2", params: JSON.stringify({ rpm: 5 }) }, { input: 3_000_000_000n, output: 1n }),
    deployment({ modelName: "other", id: "dep_3" }),
    deployment({ modelName: "openai/*", id: "dep_wild", providerKind: "openai", inferenceModelId: "*" }),
  ];
  control.settings = JSON.stringify({ router_settings: { model_group_alias: { alias: "smart" } } });
  edge = await startEdge(control);
});
afterEach(() => edge.close());

interface Entry {
  model_name: string;
  litellm_params: Record<string, unknown>;
  model_info: Record<string, unknown> & { id: string; source: Record<string, string> };
}

const keyFor = (...models: string[]) => control.addKey({ models: { names: models } }).secret;

async function get(path: string, key = MASTER_KEY): Promise<{ status: number; text: string; data: Entry[] }> {
  const response = await fetch(edge.url + path, { headers: { "x-gw-api-key": key } });
  const text = await response.text();
  return { status: response.status, text, data: (JSON.parse(text) as { data: Entry[] }).data };
}

test("one entry for each deployment, an alias adds none; a key sees those that it may use", async () => {
  for (const path of ["/model/info", "/v1/model/info"]) {
    const { data } = await get(path);
    expect(data.map(({ model_name, model_info }) => [model_name, model_info.id])).toEqual([
      ["smart", "dep_1"],
      ["smart", "dep_2"],
      ["other", "dep_3"],
      ["openai/*", "dep_wild"],
    ]);
  }
  expect((await get("/model/info", keyFor("other"))).data.map(({ model_info }) => model_info.id)).toEqual(["dep_3"]);
  const [derived] = (await get("/model/info", keyFor("openai/gpt-4o-mini"))).data;
  expect(derived).toMatchObject({
    model_name: "openai/gpt-4o-mini",
    litellm_params: { model: "openai/gpt-4o-mini" },
    model_info: { id: "dep_wild" },
  });
});

test("addresses of the operator are for the master key alone", async () => {
  const [first, ...others] = control.deployments;
  const params = {
    ...JSON.parse(first?.params ?? "{}"),
    aws_bedrock_runtime_endpoint: "http://10.0.0.9:80",
    proxies: { all: ["http://10.0.0.8"] },
  };
  if (first) control.deployments = [{ ...first, params: JSON.stringify(params) }, ...others];
  control.change({ kind: "catalog", subject: "" });
  const shownTo = async (key: string) => {
    const { text, data } = await get("/model/info?gw_model_id=dep_1", key);
    return { text, params: data[0]?.litellm_params };
  };
  await until(async () => (await shownTo(MASTER_KEY)).text.includes("10.0.0.9"));
  const tenant = await shownTo(control.addKey().secret);
  expect(tenant.params).toMatchObject({ model: "openai/gpt-4o", rpm: 10 });
  expect(tenant.text).not.toMatch(/upstream\.example|10\.0\.0\.|api_base/);
});

test("an entry says where each value comes from; a price is the one that is billed", async () => {
  const [entry] = (await get("/model/info?gw_model_id=dep_1")).data;
  expect(entry?.litellm_params).toEqual({
    model: "openai/gpt-4o",
    api_base: "https://upstream.example/v1",
    custom_llm_provider: "openai",
    rpm: 10,
    tpm: 1000,
    weight: 2,
    order: 1,
    tags: ["paid"],
    timeout: 30,
    max_tokens: 99,
    extra_headers: { "x-org": "****", authorization: "****" },
    note: "****",
  });
  expect(entry?.model_info).toMatchObject({
    id: "dep_1",
    db_model: true,
    mode: "chat",
    max_input_tokens: 1234,
    max_output_tokens: 16_384,
    input_cost_per_token: 0.000001,
    output_cost_per_token: 0.000002,
    supports_vision: false,
    supports_function_calling: true,
    tier: "paid",
    access_groups: ["g"],
    custom_tokenizer: { identifier: "x/y" },
    source: { max_input_tokens: "config", supports_vision: "config", input_cost_per_token: "catalog", max_output_tokens: "data" },
  });
  expect(entry?.model_info["supported_openai_params"]).toContain("temperature");
});

test("no secret in any form", async () => {
  const { text } = await get("/v1/model/info");
  for (const secret of SECRETS) expect(text).not.toContain(secret);
  expect((await get("/v1/model_group/info")).text).not.toContain("sk-");
});

test("an id that is unknown, or of a model that the key may not use, is a 404", async () => {
  for (const [id, key] of [
    ["nothing", MASTER_KEY],
    ["dep_1", keyFor("other")],
  ] as const) {
    const response = await get(`/model/info?gw_model_id=${id}`, key);
    expect([response.status, JSON.parse(response.text)]).toMatchObject([404, { error: { type: "not_found_error", param: "gw_model_id" } }]);
  }
});

test("the deployment id of an answer is one of model info", async () => {
  const answer = await edge.post(
    "/v1/chat/completions",
    { model: "other", messages: [{ role: "user", content: "hi" }] },
    { "x-gw-api-key": MASTER_KEY },
  );
  const ids = (await get("/model/info")).data.map(({ model_info }) => model_info.id);
  expect(ids).toContain(answer.headers.get("x-gw-model-id"));
});

describe("model_group/info", () => {
  test("a group is all its deployments: greatest limits and prices, any ability, limits added up", async () => {
    const { data } = await get("/model_group/info?model_group=smart");
    expect(data).toHaveLength(1);
    expect(data[0]).toMatchObject({
      model_group: "smart",
      providers: ["openai", "echo"],
      max_input_tokens: 128_000,
      max_output_tokens: 16_384,
      input_cost_per_token: 0.000003,
      output_cost_per_token: 0.000002,
      mode: "chat",
      tpm: 1000,
      rpm: 15,
      supports_function_calling: true,
      supports_parallel_function_calling: true,
      supports_vision: false,
    });
    const params = (data[0] as unknown as { supported_openai_params: string[] }).supported_openai_params;
    expect(params).toContain("tools");
    expect(new Set(params).size).toBe(params.length);
  });

  test("all groups, aliases and patterns; a name under a wildcard; nothing for what is not visible", async () => {
    const groups = async (query: string, key?: string) =>
      (await get(`/v1/model_group/info${query}`, key)).data.map((entry) => (entry as unknown as { model_group: string }).model_group);
    expect(await groups("")).toEqual(["smart", "other", "openai/*", "alias"]);
    expect(await groups("", keyFor("other"))).toEqual(["other"]);
    expect(await groups("?model_group=openai/*")).toEqual(["openai/*"]);
    expect(await groups("?model_group=nothing")).toEqual([]);
    expect(await groups("?model_group=smart", keyFor("other"))).toEqual([]);
    const [embedding] = (await get("/model_group/info?model_group=openai/text-embedding-3-small")).data;
    expect(embedding).toMatchObject({ model_group: "openai/text-embedding-3-small", mode: "embedding", providers: ["openai"] });
  });
});

test("prices above a number of tokens are those that are billed: of the price that was set, or of the public list where none was", async () => {
  const tier = { aboveInputTokens: 200_000, input: 3_000_000_000n, output: 4_000_000_000n };
  const pricing = { version: 1, unit: "token", input: 1_000_000_000n, output: 2_000_000_000n, effectiveAt: undefined };
  const claude = { providerKind: "anthropic", inferenceModelId: "claude-sonnet-4-5" };
  const made = (modelName: string, price?: object) => {
    const base = deployment({ modelName, ...claude });
    return { ...base, model: base.model && { ...base.model, pricing: price as typeof pricing | undefined } };
  };
  control.deployments = [made("set", { ...pricing, tiers: { tiers: [tier] } }), made("flat", pricing), made("listed")];
  const own = await startEdge(control);
  try {
    const response = await fetch(`${own.url}/model/info`, { headers: { "x-gw-api-key": MASTER_KEY } });
    const { data } = (await response.json()) as { data: { model_name: string; model_info: Record<string, unknown> }[] };
    const above = new Map(data.map(({ model_name, model_info }) => [model_name, model_info["input_cost_per_token_above_200k_tokens"]]));
    expect([above.get("set"), above.get("flat"), above.get("listed")]).toEqual([0.000003, undefined, 0.000006]);
  } finally {
    await own.close();
  }
});

async function until(isSo: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 5000;
  while (!(await isSo())) if (Date.now() > deadline) throw new Error("it did not come about within five seconds");
}
