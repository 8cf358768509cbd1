import type { UpstreamRequest, UpstreamResponse } from "../../../upstream/providers/provider.ts";
import { deployment, FakeControl, MASTER_KEY, startEdge, type TestEdge } from "../testing/edge-fixture.ts";

const UPSTREAM_KEY = "upstream-secret-1";
const KINDS = ["openai", "anthropic", "gemini", "mistral", "cohere", "groq"];
const auth = { "x-gw-api-key": MASTER_KEY };
const chat = { messages: [{ role: "user", content: "hello world" }], temperature: 0.5, max_tokens: 20 };

let edge: TestEdge;
let control: FakeControl;
let sent: UpstreamRequest[];
/** What the network answers; none by default. */
let answer: (() => UpstreamResponse) | undefined;

beforeEach(async () => {
  sent = [];
  answer = undefined;
  control = new FakeControl();
  control.deployments = [
    deployment({ modelName: "echo" }),
    ...KINDS.map((kind) =>
      deployment({
        modelName: `via-${kind}`,
        providerKind: kind,
        inferenceModelId: "gpt-4",
        apiKey: UPSTREAM_KEY,
        baseUrl: "https://up.example/v1",
      }),
    ),
    deployment({
      modelName: "via-bedrock",
      providerKind: "bedrock",
      inferenceModelId: "anthropic.claude-3-haiku-20240307-v1:0",
      params: JSON.stringify({ aws_access_key_id: "AKIAX", aws_secret_access_key: UPSTREAM_KEY, aws_region_name: "us-east-1" }),
    }),
  ];
  edge = await startEdge(control, {
    send: async (request) => {
      sent.push(request);
      if (answer) return answer();
      throw Object.assign(new Error("no network in this test"), { code: "ECONNREFUSED" });
    },
  });
});
afterEach(() => edge.close());

const post = async (path: string, body: unknown, headers: Record<string, string> = auth) => {
  const response = await edge.post(path, body, headers);
  return { status: response.status, body: (await response.json()) as Record<string, unknown> & { error: { type: string; param: string } } };
};
const get = async (path: string, key = MASTER_KEY) => {
  const response = await fetch(edge.url + path, { headers: { "x-gw-api-key": key } });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> & { error: { type: string } } };
};

const json = (status: number, body: unknown) => (): UpstreamResponse => ({
  status,
  headers: { "content-type": "application/json" },
  body: (async function* () {
    yield Buffer.from(JSON.stringify(body));
  })(),
});

describe("token_counter", () => {
  const REMOTE = [
    ["anthropic", "anthropic_api", { input_tokens: 42 }, "https://up.example/v1/messages/count_tokens"],
    [
      "gemini",
      "google_ai_studio_api",
      { totalTokens: 42, promptTokensDetails: [] },
      "https://up.example/v1/v1beta/models/gpt-4:countTokens",
    ],
    [
      "bedrock",
      "bedrock_api",
      { inputTokens: 42 },
      "https://bedrock-runtime.us-east-1.amazonaws.com/model/anthropic.claude-3-haiku-20240307-v1%3A0/count-tokens",
    ],
  ] as const;

  test.each(REMOTE)("call_endpoint: %s counts by itself, and nothing is reserved", async (kind, tokenizer, original, url) => {
    answer = json(200, original);
    const asked = { model: `via-${kind}`, messages: chat.messages, system: "be brief" };
    expect((await post("/utils/token_counter?call_endpoint=true", asked)).body).toMatchObject({
      total_tokens: 42,
      request_model: asked.model,
      tokenizer_type: tokenizer,
      original_response: original,
      error: false,
      error_message: null,
      status_code: null,
    });
    expect(sent.map((request) => request.url)).toEqual([url]);
    expect(String(sent[0]?.body)).toContain("hello world");
    expect(String(sent[0]?.body)).toContain("be brief");
    expect(control.reserved).toEqual([]);
  });

  test("call_endpoint: a provider that fails, or cannot be reached, leaves our own count and says why", async () => {
    const asked = { model: "via-anthropic", messages: chat.messages };
    const local = (await post("/utils/token_counter", asked)).body;
    expect(sent).toEqual([]);
    answer = json(400, { type: "error", error: { type: "invalid_request_error", message: "messages: too few" } });
    expect((await post("/utils/token_counter?call_endpoint=true", asked)).body).toEqual({
      ...local,
      error: true,
      error_message: "messages: too few",
      status_code: 400,
    });
    answer = json(200, { input_tokens: "many" });
    expect((await post("/utils/token_counter?call_endpoint=1", asked)).body).toMatchObject({
      total_tokens: local["total_tokens"],
      error: true,
      status_code: 503,
    });
    answer = undefined;
    expect((await post("/utils/token_counter?call_endpoint=true", asked)).body).toEqual({
      ...local,
      error: true,
      error_message: "The provider cannot be reached.",
      status_code: 503,
    });
  });

  test("call_endpoint: Google takes its contents as they are; who has no endpoint, or not for contents, is not asked", async () => {
    answer = json(200, { totalTokens: 5 });
    const contents = [{ role: "user", parts: [{ text: "hi" }] }];
    const counted = await post("/utils/token_counter?call_endpoint=true", { model: "via-gemini", contents, system: "be brief" });
    expect(counted.body["total_tokens"]).toBe(5);
    expect(JSON.parse(String(sent[0]?.body))).toEqual({
      generateContentRequest: { model: "models/gpt-4", contents, systemInstruction: { parts: [{ text: "be brief" }] } },
    });
    for (const asked of [
      { model: "via-anthropic", contents },
      { model: "via-openai", prompt: "x" },
      { model: "unknown", prompt: "x" },
    ]) {
      expect((await post("/utils/token_counter?call_endpoint=true", asked)).body).toMatchObject({
        tokenizer_type: "openai_tokenizer",
        error: false,
      });
    }
    expect(sent).toHaveLength(1);
  });

  test("a prompt of a model by its name, of a group by what serves it", async () => {
    for (const path of ["/utils/token_counter", "/v1/utils/token_counter?call_endpoint=true"]) {
      expect(await post(path, { model: "gpt-4o", prompt: "hello <|endoftext|> world" })).toEqual({
        status: 200,
        body: {
          total_tokens: 9,
          request_model: "gpt-4o",
          model_used: "gpt-4o",
          tokenizer_type: "openai_tokenizer",
          original_response: null,
          error: false,
          error_message: null,
          status_code: null,
        },
      });
    }
    expect((await post("/utils/token_counter", { model: "via-openai", messages: chat.messages })).body).toMatchObject({
      total_tokens: 9,
      model_used: "gpt-4",
    });
    expect((await post("/utils/token_counter", { model: "echo", prompt: "one two" })).body).toMatchObject({ tokenizer_type: "echo" });
    expect(sent).toEqual([]);
  });

  test("nothing to count is a 400, no model a 422, a model of others a 403", async () => {
    expect(await post("/utils/token_counter", { model: "gpt-4o" })).toMatchObject({
      status: 400,
      body: { error: { type: "invalid_request_error" } },
    });
    expect(await post("/utils/token_counter", { prompt: "x" })).toMatchObject({
      status: 422,
      body: { detail: [{ loc: ["body", "model"], type: "missing" }] },
    });
    expect((await post("/utils/token_counter?call_endpoint=perhaps", { model: "x", prompt: "x" })).status).toBe(422);
    const limited = { "x-gw-api-key": control.addKey({ models: { names: ["echo"] } }).secret };
    expect((await post("/utils/token_counter", { model: "via-openai", prompt: "x" }, limited)).status).toBe(403);
  });
});

test("supported_openai_params: of every group, of a provider's model, of a well-known name; others are a 400", async () => {
  for (const name of ["echo", "via-bedrock", ...KINDS.map((kind) => `via-${kind}`), "anthropic/claude-sonnet-4-5", "gpt-4o"]) {
    const { status, body } = await get(`/utils/supported_openai_params?model=${encodeURIComponent(name)}`);
    expect([name, status]).toEqual([name, 200]);
    expect(body["supported_openai_params"]).toContain("max_tokens");
  }
  for (const name of ["nothing-of-that-name", "nobody/x", "openai/"]) {
    expect(await get(`/v1/utils/supported_openai_params?model=${name}`)).toMatchObject({
      status: 400,
      body: { error: { type: "invalid_request_error" } },
    });
  }
  expect((await get("/utils/supported_openai_params")).status).toBe(422);
});

describe("transform_request", () => {
  const transform = (call_type: unknown, request_body: unknown, headers = auth) =>
    post("/v1/utils/transform_request", { call_type, request_body }, headers);

  test.each([...KINDS, "bedrock"])("%s: what is shown is what is sent, without the key", async (kind) => {
    const body = { ...chat, model: `via-${kind}` };
    const shown = await transform("acompletion", body);
    expect(shown.status).toBe(200);
    expect(sent).toEqual([]);
    await edge.post("/v1/chat/completions", { ...body, num_retries: 0 }, auth);
    const [request] = sent;
    expect(shown.body["raw_request_api_base"]).toBe(request?.url);
    expect(shown.body["raw_request_body"]).toEqual(JSON.parse(String(request?.body)));
    expect(Object.keys(shown.body["raw_request_headers"] as object)).toEqual(expect.arrayContaining(Object.keys(request?.headers ?? {})));
    expect(JSON.stringify(shown.body)).not.toContain(UPSTREAM_KEY);
    expect(JSON.stringify(shown.body)).toContain("****");
  });

  test("an address that the operator set is shown to the master key alone; other keys see its path", async () => {
    const tenant = { "x-gw-api-key": control.addKey().secret };
    const shown = await transform("completion", { ...chat, model: "via-openai" }, tenant);
    expect(shown.body["raw_request_api_base"]).toBe("/v1/chat/completions");
    expect(JSON.stringify(shown.body)).not.toContain("up.example");
    // The provider's own address is no secret.
    const published = await transform("completion", { ...chat, model: "via-bedrock" }, tenant);
    expect(published.body["raw_request_api_base"]).toContain("amazonaws.com");
  });

  test("embeddings and completions too", async () => {
    const shown = await transform("embedding", { model: "via-openai", input: ["a"] });
    expect(shown.body).toMatchObject({ raw_request_body: { input: ["a"], model: "gpt-4" } });
    expect((await transform("text_completion", { model: "via-openai", prompt: "a" })).status).toBe(200);
    expect((await transform("image_generation", { model: "via-openai", prompt: "a" })).status).toBe(400);
  });

  test("refused like the call: forbidden fields, unknown models, types, faults in the body", async () => {
    expect(await transform("completion", { ...chat, model: "via-openai", api_base: "https://evil.example" })).toMatchObject({
      status: 400,
      body: { error: { param: "api_base" } },
    });
    expect((await transform("completion", { ...chat, model: "nothing" })).status).toBe(404);
    expect((await transform("telepathy", { ...chat, model: "via-openai" })).status).toBe(422);
    expect((await transform("completion", { model: "via-openai" })).status).toBe(422);
    expect((await post("/utils/transform_request", { call_type: "completion" })).status).toBe(422);
    const limited = { "x-gw-api-key": control.addKey({ models: { names: ["echo"] } }).secret };
    expect((await transform("completion", { ...chat, model: "via-openai" }, limited)).status).toBe(403);
    expect(control.reserved).toEqual([]);
  });
});
