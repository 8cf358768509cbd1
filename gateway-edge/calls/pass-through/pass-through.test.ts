import { MASTER_KEY } from "../../server/http/testing/edge-fixture.ts";
import { closeAll, closeLastProvider, json, open, until } from "./pass-through-fixture.ts";

afterAll(closeAll);

const ANSWER = {
  id: "x",
  choices: [{ index: 0, message: { role: "assistant", content: "hi" }, finish_reason: "stop" }],
  usage: { prompt_tokens: 100, completion_tokens: 10 },
};
const TRACEPARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

test("a call goes on with our key and without the client's, and comes back as it is; paid by the usage in it", async () => {
  const { seen, post, logs, control } = await open(json(ANSWER));
  const headers = {
    "x-gw-tags": "t",
    "x-forwarded-for": "1.2.3.4",
    cookie: "c=d",
    "openai-beta": "assistants=v2",
    traceparent: TRACEPARENT,
  };
  const response = await post(
    "/openai/v1/chat/completions?a=1&key=steal",
    { model: "openai-x", max_tokens: 50, messages: [] },
    { headers },
  );
  expect([response.status, await response.json()]).toEqual([200, ANSWER]);
  expect([...response.headers.keys()].toSorted()).toEqual([
    "connection",
    "content-security-policy",
    "content-type",
    "date",
    "keep-alive",
    "transfer-encoding",
    "x-content-type-options",
    "x-gw-call-id",
    "x-ratelimit-remaining-requests",
    "x-request-id",
  ]);
  expect(response.headers.get("x-gw-call-id")).toBe(logs()[0]?.callId);
  const [request] = seen;
  expect(request).toMatchObject({
    method: "POST",
    url: "/v1/chat/completions?a=1",
    headers: { authorization: "Bearer up-openai", "openai-beta": "assistants=v2", "x-request-id": response.headers.get("x-request-id") },
  });
  expect(JSON.parse(request?.body ?? "")).toEqual({ model: "openai-x", max_tokens: 50, messages: [] });
  expect(JSON.stringify(request?.headers)).not.toMatch(/x-gw|sk-|1\.2\.3\.4|c=d/);
  expect(logs()).toMatchObject([
    {
      type: "pass_through",
      model: "openai-x",
      provider: "echo",
      status: "success",
      cost: 120_000n,
      usage: { input: 100n, output: 10n, source: "provider" },
      tags: [`trace:${TRACEPARENT.slice(3, 35)}`],
    },
  ]);
  expect(control.reserved[0]?.worstCase).toBeGreaterThan(100_000n);
});

test("a page of a provider is a download in a sandbox, and so is a refusal of the gateway", async () => {
  const { call } = await open((_request, response) => {
    response.writeHead(200, { "content-type": "text/html", "set-cookie": "a=b" }).end("<script>fetch('/api/auth/me')</script>");
  });
  const headersOf = async (path: string) => {
    const { headers } = await call(path, { key: MASTER_KEY });
    const names = ["content-security-policy", "x-content-type-options", "content-type", "content-disposition", "set-cookie"];
    return names.map((name) => headers.get(name));
  };
  const sandbox = ["sandbox; default-src 'none'", "nosniff"];
  expect(await headersOf("/openai/v1/page")).toEqual([...sandbox, "application/octet-stream", "attachment", null]);
  expect((await headersOf("/mistral/v1/models")).slice(0, 2)).toEqual(sandbox);
});

test("each provider has its own key header, base and version; a path without a version gets one", async () => {
  const { seen, post, call } = await open(json({}));
  await post("/anthropic/v1/messages", { model: "anthropic-x" });
  await post("/gemini/v1beta/models/gemini-x:generateContent", {});
  await post("/azure/openai/deployments/azure-x/chat/completions?api-version=1", {});
  await call("/openai/models", { key: MASTER_KEY });
  expect(seen.map(({ url }) => url)).toEqual([
    "/v1/messages",
    "/deep/base/v1beta/models/gemini-x:generateContent",
    "/openai/deployments/azure-x/chat/completions?api-version=1",
    "/v1/models",
  ]);
  expect(seen[0]?.headers).toMatchObject({ "x-api-key": "up-anthropic", "anthropic-version": "2023-06-01" });
  expect(seen[1]?.headers).toMatchObject({ "x-goog-api-key": "up-gemini" });
  expect(seen[2]?.headers).toMatchObject({ "api-key": "up-azure" });
  expect(seen.slice(0, 3).every(({ headers }) => headers.authorization === undefined)).toBe(true);
});

test.each([
  [
    "anthropic",
    "v1/messages",
    {
      content: [{ type: "text", text: "hi" }],
      usage: { input_tokens: 10, cache_read_input_tokens: 100, cache_creation_input_tokens: 5, output_tokens: 20 },
    },
    { input: 10n, cachedInput: 100n, cacheWrite: 5n, output: 20n },
  ],
  [
    "gemini",
    "v1beta/models/gemini-x:generateContent",
    {
      candidates: [{ content: { parts: [{ text: "hi" }] }, finishReason: "STOP" }],
      usageMetadata: { promptTokenCount: 30, cachedContentTokenCount: 10, candidatesTokenCount: 4, thoughtsTokenCount: 6 },
    },
    { input: 20n, cachedInput: 10n, output: 4n, reasoning: 6n },
  ],
  [
    "openai",
    "v1/responses",
    {
      output: [],
      usage: {
        input_tokens: 30,
        input_tokens_details: { cached_tokens: 10 },
        output_tokens: 9,
        output_tokens_details: { reasoning_tokens: 4 },
      },
    },
    { input: 20n, cachedInput: 10n, output: 5n, reasoning: 4n },
  ],
  ["openai", "v1/embeddings", { data: [], usage: { prompt_tokens: 7, total_tokens: 7 } }, { input: 7n, output: 0n }],
  [
    "cohere",
    "v2/chat",
    {
      message: { content: [{ type: "text", text: "hi" }] },
      finish_reason: "COMPLETE",
      usage: { billed_units: { input_tokens: 8, output_tokens: 3 } },
    },
    { input: 8n, output: 3n },
  ],
])("usage in the shape of %s at %s", async (kind, path, body, usage) => {
  const { post, logs } = await open(json(body));
  await (await post(`/${kind}/${path}`, kind === "gemini" ? {} : { model: `${kind}-x` })).text();
  expect(logs()[0]?.usage).toMatchObject({ ...usage, source: "provider" });
});

test("a stream passes as it comes, its usage is read on the way, and the call is settled before its end", async () => {
  const frames = [
    { type: "message_start", message: { usage: { input_tokens: 12, output_tokens: 1 } } },
    { type: "content_block_delta", delta: { text: "hi" } },
    { type: "message_delta", usage: { output_tokens: 7 } },
    { type: "message_stop" },
  ];
  const { post, logs } = await open((_request, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    for (const frame of frames) response.write(`event: ${frame.type}\ndata: ${JSON.stringify(frame)}\n\n`);
    response.end();
  });
  const response = await post("/anthropic/v1/messages", { model: "anthropic-x", stream: true, max_tokens: 10 });
  const text = await response.text();
  expect(text.match(/^event: /gm)).toHaveLength(4);
  expect(logs()).toMatchObject([{ status: "success", stream: true, usage: { input: 12n, output: 7n, source: "provider" }, cost: 26_000n }]);
});

test("a client that leaves ends the upstream, and pays what it saw; an upstream that breaks off ends the client", async () => {
  let upstreamClosed = false;
  const chunk = `data: ${JSON.stringify({ choices: [{ delta: { content: "one two three" } }] })}\n\n`;
  const { post, logs, control } = await open((_request, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(chunk);
    response.once("close", () => {
      upstreamClosed = true;
    });
  });
  const leaving = new AbortController();
  const response = await post("/openai/v1/chat/completions", { model: "openai-x", stream: true }, { signal: leaving.signal });
  await response.body?.getReader().read();
  leaving.abort();
  await until(() => upstreamClosed && control.settled.size === 1);
  expect(logs()).toMatchObject([{ status: "cancelled", httpStatus: 499, usage: { source: "estimated" } }]);
  expect(logs()[0]?.cost).toBeGreaterThan(0n);

  const broken = await open((_request, answer) => {
    answer.writeHead(200, { "content-type": "text/event-stream" });
    answer.write(chunk, () => answer.destroy());
  });
  const cut = await broken.post("/openai/v1/chat/completions", { model: "openai-x", stream: true });
  await expect(cut.text()).rejects.toThrow();
  await until(() => broken.control.settled.size === 1);
  expect(broken.logs()).toMatchObject([{ status: "error" }]);
});

test("an upstream's refusal is passed on and costs nothing; one that cannot be reached is a 503", async () => {
  const { post, logs } = await open(json({ error: { message: "no" } }, 422));
  const refused = await post("/openai/v1/chat/completions", { model: "openai-x" });
  expect([refused.status, await refused.json()]).toEqual([422, { error: { message: "no" } }]);
  expect(logs()).toMatchObject([{ status: "error", httpStatus: 422, cost: 0n }]);

  const ours = await open(json({ error: { message: "bad key up-openai" } }, 401));
  const wrong = await ours.post("/openai/v1/chat/completions", { model: "openai-x" });
  expect([wrong.status, await wrong.text()]).toEqual([503, expect.not.stringContaining("up-openai")]);

  const gone = await open(json({}));
  await closeLastProvider();
  const response = await gone.post("/openai/v1/chat/completions", { model: "openai-x" });
  expect(response.status).toBe(503);
  expect(gone.logs()).toMatchObject([{ status: "error", httpStatus: 503, cost: 0n }]);
});

test("a GET costs and reserves nothing, and is logged all the same", async () => {
  const { call, logs, control, seen } = await open(json({ data: [] }), {
    general_settings: { pass_through: true, pass_through_account: true },
  });
  control.balance = 0n;
  expect((await call("/openai/v1/files?limit=3")).status).toBe(200);
  expect(seen[0]).toMatchObject({ method: "GET", url: "/v1/files?limit=3", body: "" });
  expect([control.reserved, logs()[0]?.cost]).toEqual([[], 0n]);
});

describe("who may", () => {
  test("not without a key; keys only if the operator allows it and without a model list; admins always", async () => {
    const { post, seen, edge, control } = await open(json({ usage: { prompt_tokens: 1, completion_tokens: 1 } }), {});
    const body = { model: "openai-x" };
    expect((await fetch(`${edge.url}/openai/v1/models`)).status).toBe(401);
    expect((await post("/openai/v1/chat/completions", body)).status).toBe(403);
    expect(seen).toHaveLength(0);
    expect((await post("/openai/v1/chat/completions", body, { key: MASTER_KEY })).status).toBe(200);
    const opened = await open(json({}));
    const bound = opened.control.addKey({ models: { names: ["our-openai"] } });
    const blocked = opened.control.addKey({ status: "team_blocked" });
    for (const { secret } of [bound, blocked])
      expect((await opened.post("/openai/v1/chat/completions", body, { key: secret })).status).toBe(403);
    expect(opened.seen).toHaveLength(0);
    expect(control.made).toHaveLength(1);
  });

  test("objects of the provider account, which all tenants share, are for the master key, and for others if the operator says so", async () => {
    const { call, seen } = await open(json({ data: ["file of another tenant"] }));
    for (const [method, path] of [
      ["GET", "/openai/v1/files"],
      ["GET", "/openai/v1/files/file-1/content"],
      ["HEAD", "/openai/v1/files"],
      ["DELETE", "/openai/v1/files/file-1"],
      ["PUT", "/gemini/v1beta/files/1"],
      ["PATCH", "/openai/v1/evals/1"],
    ] as const) {
      const refused = await call(path, { method });
      expect([method, path, refused.status]).toEqual([method, path, 403]);
      if (method !== "HEAD") expect(await refused.text()).toContain("general_settings.pass_through_account");
    }
    expect(seen).toHaveLength(0);
    expect((await call("/openai/v1/files", { key: MASTER_KEY })).status).toBe(200);
    const opened = await open(json({}), { general_settings: { pass_through: true, pass_through_account: true } });
    for (const method of ["GET", "DELETE"]) expect((await opened.call("/openai/v1/files/file-1", { method })).status).toBe(200);
    expect(opened.logs().map(({ cost }) => cost)).toEqual([0n, 0n]);
  });

  test("nothing without a known price, but for admins; nothing past an empty balance", async () => {
    const { post, seen, control } = await open(json({}));
    expect((await post("/openai/v1/chat/completions", { model: "never-heard-of" })).status).toBe(400);
    expect((await post("/openai/v1/files", {})).status).toBe(400);
    expect((await post("/openai/v1/files", {}, { key: MASTER_KEY })).status).toBe(200);
    control.balance = 0n;
    expect((await post("/openai/v1/chat/completions", { model: "openai-x" })).status).toBe(429);
    expect(seen).toHaveLength(1);
  });

  test("no tools that the provider bills beside the tokens, but for admins", async () => {
    const { post, seen } = await open(json({}));
    const elsewhere = "Use /v1/responses, /v1/messages or /v1/chat/completions, or the master key.";
    const calls = [
      ["/openai/v1/responses", { model: "openai-x", tools: [{ type: "web_search" }] }, "web searches", elsewhere],
      ["/openai/v1/responses", { model: "openai-x", tools: { type: "file_search" } }, "file searches", elsewhere],
      ["/openai/v1/chat/completions", { model: "openai-x", search_parameters: { mode: "on" } }, "web searches", elsewhere],
      [
        "/anthropic/v1/messages",
        { model: "anthropic-x", tools: [{ type: "code_execution_20250825" }] },
        "code execution sessions",
        elsewhere,
      ],
      ["/gemini/models/gemini-x:generateContent", { tools: [{ google_search: {} }] }, "the tool google_search", "Use the master key."],
      ["/gemini/models/gemini-x:generateContent", { tools: { googleMaps: {} } }, "the tool googleMaps", "Use the master key."],
      ["/openai/v1/chat/completions", { model: "gpt-4o-search-preview" }, "web searches of the preview tool", elsewhere],
      ["/openai/v1/chat/completions", { model: "gpt-5-search-api" }, "web searches", elsewhere],
    ] as const;
    for (const [path, body, what, advice] of calls) {
      const refused = await post(path, body);
      const message = `The provider bills ${what} beside the tokens, and calls that pass through are billed by tokens only. ${advice}`;
      expect([refused.status, await refused.json()]).toMatchObject([400, { error: { message } }]);
      expect((await post(path, body, { key: MASTER_KEY })).status).toBe(200);
    }
    expect((await post("/openai/v1/responses", { model: "openai-x", tools: [{ type: "function", name: "f" }] })).status).toBe(200);
    expect(seen).toHaveLength(calls.length + 1);
  });

  test("nothing that is the operator's or is billed at other prices than the model's, but for admins", async () => {
    const { post, call, seen } = await open(json({}));
    const file = (fileUri: string) => ({ contents: [{ parts: [{ fileData: { fileUri } }] }] });
    const at = (kind: string) => `/${kind}/v1/${kind === "anthropic" ? "messages" : "chat/completions"}`;
    const calls = [
      ["/gemini/models/gemini-x:generateContent", file("gs://victim/a.png"), "contents[0].parts[0].fileData.fileUri"],
      [at("azure"), { model: "azure-x", data_sources: [{ type: "azure_search" }] }, "data_sources"],
      [at("openai"), { model: "openai-x", service_tier: "priority" }, "service_tier"],
      [at("anthropic"), { model: "anthropic-x", speed: "fast" }, "speed"],
      [at("anthropic"), { model: "anthropic-x", container: "container_1" }, "container"],
    ] as const;
    for (const [path, body, param] of calls) {
      const refused = await post(path, body);
      expect([refused.status, await refused.json()]).toMatchObject([400, { error: { param } }]);
      expect((await post(path, body, { key: MASTER_KEY })).status).toBe(200);
    }
    const path = "/gemini/models/gemini-x:generateContent";
    expect((await post(path, file("https://generativelanguage.googleapis.com/v1beta/files/a"))).status).toBe(200);
    expect((await call(path, { method: "POST", body: "{contents:[]}" })).status).toBe(400);
    // Nothing in it has to be checked: the provider refuses it, if it has to.
    expect((await call(path, { method: "POST" })).status).toBe(200);
    expect(seen).toHaveLength(calls.length + 2);
  });

  test("not with guardrails: they could not read the call", async () => {
    const guardrails = [{ guardrail_name: "g", litellm_params: { guardrail: "regex", patterns: ["x"], default_on: true } }];
    const { post, seen } = await open(json({}), { general_settings: { pass_through: true }, guardrails });
    expect((await post("/openai/v1/chat/completions", { model: "openai-x" })).status).toBe(403);
    expect((await post("/openai/v1/chat/completions", { model: "openai-x" }, { key: MASTER_KEY })).status).toBe(403);
    expect(seen).toHaveLength(0);
  });
});

describe("paths", () => {
  test.each(["/gemini/v1/..%2f..%2fsecret", "/gemini/v1/%2e%2e/%2E%2E/secret", "/gemini/v1/..%5c..%5csecret", "/gemini/v1/a%00b"])(
    "%s does not leave the base",
    async (path) => {
      const { call, seen } = await open(json({}));
      const response = await call(path);
      expect([400, 404]).toContain(response.status);
      expect(seen).toHaveLength(0);
    },
  );

  test("a host in the path is a path", async () => {
    const { call, seen } = await open(json({}));
    await call("/openai//elsewhere.example/v1/models", { key: MASTER_KEY });
    expect(seen.map(({ url }) => url)).toEqual(["/v1/elsewhere.example/v1/models"]);
  });

  test("what is ours stays ours: deployments, also those that do not exist", async () => {
    const { post, seen } = await open(json({ choices: [{ index: 0, message: { content: "hi" }, finish_reason: "stop" }] }));
    expect((await post("/openai/deployments/nope/chat/completions", { messages: [{ role: "user", content: "x" }] })).status).toBe(404);
    expect((await post("/openai/deployments/our-openai/unknown", {})).status).toBe(404);
    expect(seen).toHaveLength(0);
  });

  test("a provider without a key of ours is a 404; a body that is too large a 413", async () => {
    const { call, post, seen } = await open(json({}), undefined, [], { without: "mistral" });
    expect((await call("/mistral/v1/models")).status).toBe(404);
    expect((await post("/openai/v1/chat/completions", { model: "openai-x", text: "x".repeat(70_000) })).status).toBe(413);
    expect(seen).toHaveLength(0);
  });
});
