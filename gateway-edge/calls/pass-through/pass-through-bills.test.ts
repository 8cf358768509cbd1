import { deployment, MASTER_KEY } from "../../server/http/testing/edge-fixture.ts";
import { type Answer, closeAll, events, json, open, until } from "./pass-through-fixture.ts";

afterAll(closeAll);

const WORDS = "one two three four five six seven eight nine ten ";
const FIFTY = Array.from({ length: 5 }, () => WORDS);
/** Of WORDS, five times. */
const TOKENS = 50n;
const USAGE = { usage: { prompt_tokens: 100, completion_tokens: 10 } };

describe("the price is that of the model which the provider answers with", () => {
  test("the path's model counts: the body's is not sent beside it, and a body that asks another one is refused", async () => {
    const { post, seen } = await open(json({}));
    const calls = [
      ["/gemini/v1beta/models/gemini-embedding-001:batchEmbedContents", { requests: [{ model: "models/gemini-2.0-flash-lite" }] }],
    ] as const;
    for (const [path, body] of calls) {
      const refused = await post(path, body);
      expect([refused.status, await refused.json()]).toMatchObject([400, { error: { param: "model" } }]);
    }
    expect(seen).toHaveLength(0);
    expect((await post("/gemini/v1beta/models/gemini-x:generateContent", { model: "models/gemini-x" })).status).toBe(200);
    // Azure's own client names the model beside its deployment; the provider gets what is billed.
    const seenBefore = seen.length;
    const named = await post("/azure/openai/deployments/azure-x/chat/completions", { model: "gpt-3.5-turbo", max_tokens: 5 });
    expect([named.status, seen[seenBefore]?.body]).toEqual([200, '{"max_tokens":5}']);
  });

  test("an alias of the gateway prices no model that has its name at the provider", async () => {
    const cheap = { modelName: "gpt-4", providerKind: "openai", inferenceModelId: "gpt-4o-mini", apiKey: "k", params: "{}" };
    const alias = deployment(cheap, { input: 1n, output: 1n });
    const { post, logs, control } = await open(json(USAGE), undefined, [alias]);
    await (await post("/openai/v1/chat/completions", { model: "gpt-4", max_tokens: 10 })).text();
    // 30 and 60 USD per million tokens.
    expect(control.reserved[0]?.worstCase).toBeGreaterThan(600_000n);
    expect(logs()).toMatchObject([{ model: "gpt-4", deploymentId: "" }]);
  });

  test("what is priced by another unit than tokens is refused with the reason", async () => {
    const images = deployment({ modelName: "p", providerKind: "openai", inferenceModelId: "pictures", apiKey: "k", params: "{}" });
    if (images.model?.pricing) images.model.pricing.unit = "image";
    const { post, seen } = await open(json({}), undefined, [images]);
    const refused = await post("/openai/v1/chat/completions", { model: "dall-e-3" });
    expect([refused.status, await refused.json()]).toMatchObject([
      400,
      { error: { param: "model", message: expect.stringContaining("The model dall-e-3 is priced by the image") } },
    ]);
    expect((await post("/openai/v1/chat/completions", { model: "pictures" })).status).toBe(400);
    expect(seen).toHaveLength(0);
  });

  test("the tier that the input is in holds for the call, and dearer kinds of tokens cost their own price", async () => {
    const tiers = { tiers: [{ aboveInputTokens: 200, input: 3_000_000_000n, output: 4_000_000_000n }] };
    const tiered = deployment({ modelName: "t", providerKind: "gemini", inferenceModelId: "tiered", params: "{}" });
    if (tiered.model?.pricing) Object.assign(tiered.model.pricing, { tiers, audioInput: 9_000_000_000n });
    const usageOf = (usageMetadata: object) =>
      json({ candidates: [{ content: { parts: [{ text: "hi" }] }, finishReason: "STOP" }], usageMetadata });
    const path = "/gemini/v1beta/models/tiered:generateContent";
    const above = await open(usageOf({ promptTokenCount: 300, candidatesTokenCount: 10 }), undefined, [tiered]);
    await (await above.post(path, { contents: "x".repeat(900) })).text();
    expect(above.logs()[0]?.cost).toBe(940_000n);
    expect(above.control.reserved[0]?.worstCase).toBeGreaterThan(300n * 3000n);
    const sound = [{ modality: "AUDIO", tokenCount: 50 }];
    const heard = await open(usageOf({ promptTokenCount: 100, promptTokensDetails: sound, candidatesTokenCount: 10 }), undefined, [tiered]);
    await (await heard.post(path, {})).text();
    expect(heard.logs()[0]?.cost).toBe(50n * 1000n + 50n * 9000n + 10n * 2000n);
  });
});

describe("calls whose answers do not tell what they cost", () => {
  test("paths that make media, sessions, jobs or objects are for the master key, whatever model they name", async () => {
    const { post, seen } = await open(json({}));
    const model = "openai-x";
    const calls = [
      ["/openai/v1/images/generations", { model }],
      ["/openai/v1/audio/speech", { model }],
      ["/openai/v1/realtime/sessions", { model }],
      ["/openai/v1/realtime/client_secrets", { model }],
      ["/openai/v1/fine_tuning/jobs", { model }],
      ["/openai/v1/assistants", { model }],
      ["/openai/v1/threads/t/messages", { model }],
      ["/openai/v1/batches", { model }],
      ["/mistral/v1/agents/completions", { model: "mistral-x", agent_id: "a" }],
      ["/cohere/v1/chat", { model: "cohere-x" }],
      ["/cohere/v2/rerank", { model: "cohere-x" }],
      ["/azure/openai/deployments/azure-x/extensions/chat/completions", {}],
      ["/gemini/v1beta/models/gemini-x:batchGenerateContent", {}],
      ["/gemini/v1beta/models/gemini-x:predictLongRunning", {}],
      ["/gemini/v1beta/cachedContents", { model: "models/gemini-x" }],
    ] as const;
    for (const [path, body] of calls) {
      const refused = await post(path, body);
      expect([path, refused.status, await refused.json()]).toMatchObject([
        path,
        400,
        { error: { message: expect.stringContaining("master key") } },
      ]);
      expect((await post(path, body, { key: MASTER_KEY })).status).toBe(200);
    }
    expect(seen).toHaveLength(calls.length);
  });

  test.each(["background", "deferred"])("%s is refused", async (param) => {
    const { post, seen } = await open(json({}));
    const refused = await post("/openai/v1/responses", { model: "openai-x", [param]: true });
    expect([refused.status, await refused.json()]).toMatchObject([400, { error: { param } }]);
    expect(seen).toHaveLength(0);
    expect((await post("/openai/v1/responses", { model: "openai-x", [param]: false })).status).toBe(200);
  });

  test("counting tokens is free, as it is at the provider", async () => {
    const { post, logs, control } = await open(json({ input_tokens: 9 }));
    control.balance = 0n;
    const calls = ["/anthropic/v1/messages/count_tokens", "/openai/v1/responses/input_tokens", "/gemini/models/any:countTokens"];
    for (const path of calls) expect([path, (await post(path, {})).status]).toEqual([path, 200]);
    expect(logs().map(({ cost }) => cost)).toEqual([0n, 0n, 0n]);
  });

  test("a provider gets the body as it was checked, and no second value of a field", async () => {
    const { call, seen } = await open(json({}));
    const body = '{"model":"dear","service_tier":"priority","model":"openai-x","service_tier":"default"}';
    expect((await call("/openai/v1/chat/completions", { method: "POST", body })).status).toBe(200);
    expect(seen[0]?.body).toBe('{"model":"openai-x","service_tier":"default"}');
  });
});

describe("without the provider's last word, what was delivered is counted", () => {
  const delta = (fields: object) => ({ choices: [{ index: 0, delta: fields }] });
  const google = (text: string) => ({ candidates: [{ content: { parts: [{ text }] } }], usageMetadata: { promptTokenCount: 12 } });
  const CHAT = "/openai/v1/chat/completions";
  const STREAM = "/gemini/v1beta/models/gemini-x:streamGenerateContent";
  const cut: readonly { what: string; path: string; frames: object[]; input?: bigint }[] = [
    {
      what: "a message",
      path: "/anthropic/v1/messages",
      frames: [
        { type: "message_start", message: { usage: { input_tokens: 12, output_tokens: 1 } } },
        ...FIFTY.map((text) => ({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text } })),
      ],
      input: 12n,
    },
    {
      what: "the input of a tool",
      path: "/anthropic/v1/messages",
      frames: FIFTY.map((json) => ({ type: "content_block_delta", delta: { partial_json: json } })),
    },
    {
      what: "a response",
      path: "/openai/v1/responses",
      frames: FIFTY.map((text) => ({ type: "response.output_text.delta", delta: text })),
    },
    {
      what: "the arguments of a call",
      path: "/openai/v1/responses",
      frames: FIFTY.map((text) => ({ type: "response.function_call_arguments.delta", delta: text })),
    },
    { what: "a chat", path: CHAT, frames: FIFTY.map((content) => delta({ content })) },
    { what: "the reasoning of a chat", path: CHAT, frames: FIFTY.map((reasoning_content) => delta({ reasoning_content })) },
    {
      what: "the arguments of a chat's tool",
      path: CHAT,
      frames: FIFTY.map((text) => delta({ tool_calls: [{ index: 0, function: { arguments: text } }] })),
    },
    { what: "Google's chat", path: `${STREAM}?alt=sse`, frames: FIFTY.map(google), input: 12n },
  ];

  test.each(cut)("$what that breaks off", async ({ path, frames, input }) => {
    const { post, logs, control } = await open(events(frames, { isCut: true }));
    const model = path.startsWith("/gemini") ? {} : { model: `${path.split("/")[1]}-x` };
    const response = await post(path, { ...model, stream: true });
    await response.text().catch(() => "cut");
    await until(() => control.settled.size === 1);
    const [log] = logs();
    expect(log?.usage).toMatchObject({ source: "estimated", ...(input !== undefined && { input }) });
    const { output = 0n, input: counted = 0n } = log?.usage ?? {};
    expect(output >= TOKENS && output <= TOKENS + 10n).toBe(true);
    expect(counted).toBeGreaterThan(0n);
    expect(log?.cost).toBe(counted * 1000n + output * 2000n);
  });

  test("a whole answer that lacks its last byte", async () => {
    const whole = JSON.stringify({ choices: [{ index: 0, message: { content: FIFTY.join("") }, finish_reason: "stop" }], ...USAGE });
    const lacking: Answer = (_request, response) => {
      response.writeHead(200, { "content-type": "application/json" });
      response.write(whole.slice(0, -1), () => response.destroy());
    };
    const { post, logs, control } = await open(lacking);
    await (await post(CHAT, { model: "openai-x" })).text().catch(() => "cut");
    await until(() => control.settled.size === 1);
    expect(logs()[0]?.usage?.output).toBeGreaterThanOrEqual(TOKENS);
  });

  test("Google's list of chunks is a stream, whole or not", async () => {
    const last = {
      candidates: [{ content: { parts: [] }, finishReason: "STOP" }],
      usageMetadata: { promptTokenCount: 12, candidatesTokenCount: 60 },
    };
    const listed = await open(json([...FIFTY.map(google), last]));
    await (await listed.post(STREAM, {})).text();
    expect(listed.logs()[0]?.usage).toMatchObject({ input: 12n, output: 60n, source: "provider" });
    const unfinished = await open(json(FIFTY.map(google)));
    await (await unfinished.post(STREAM, {})).text();
    expect(unfinished.logs()[0]?.usage?.output).toBeGreaterThanOrEqual(TOKENS);
  });

  test("an answer without usage", async () => {
    const answer = { choices: [{ index: 0, message: { content: FIFTY.join("") }, finish_reason: "stop" }] };
    const { post, logs } = await open(json(answer));
    await (await post(CHAT, { model: "openai-x" })).text();
    expect(logs()[0]?.usage?.output).toBeGreaterThanOrEqual(TOKENS);
  });

  test("who leaves with the last word pays for the report that follows at once", async () => {
    const said = `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: "hi" }, finish_reason: "stop" }] })}\n\n`;
    const rest = `data: ${JSON.stringify({ choices: [], usage: { prompt_tokens: 5, completion_tokens: 900 } })}\n\ndata: [DONE]\n\n`;
    let answering: Parameters<Answer>[1] | undefined;
    const { post, logs, control } = await open((_request, response) => {
      answering = response;
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(said);
    });
    const leaving = new AbortController();
    const response = await post(CHAT, { model: "openai-x", stream: true }, { signal: leaving.signal });
    await response.body?.getReader().read();
    leaving.abort();
    answering?.end(rest);
    await until(() => control.settled.size === 1);
    expect(logs()).toMatchObject([{ usage: { input: 5n, output: 900n } }]);
  });
});

describe("streams of chats are asked for their usage", () => {
  const frames = [
    { choices: [{ index: 0, delta: { content: "hi" }, finish_reason: "stop" }] },
    { choices: [], usage: { prompt_tokens: 100, completion_tokens: 10 } },
    "[DONE]",
  ];

  test("the event with it is for clients that asked, too; others fail at an event without choices", async () => {
    const { post, seen, logs } = await open(events(frames));
    const body = { model: "openai-x", stream: true };
    const quiet = await (await post("/openai/v1/chat/completions", body)).text();
    const asked = { ...body, stream_options: { include_usage: true } };
    const told = await (await post("/openai/v1/chat/completions", asked)).text();
    expect(quiet).toBe(`data: ${JSON.stringify(frames[0])}\n\ndata: [DONE]\n\n`);
    expect(told).toContain('"choices":[]');
    expect(seen.map((each) => JSON.parse(each.body).stream_options)).toEqual([{ include_usage: true }, { include_usage: true }]);
    expect(logs().map(({ cost }) => cost)).toEqual([120_000n, 120_000n]);
  });

  test("but not of a provider that refuses the question and always answers it", async () => {
    const { post, seen } = await open(events(frames));
    await (await post("/mistral/v1/chat/completions", { model: "mistral-x", stream: true })).text();
    expect(JSON.parse(seen[0]?.body ?? "")).toEqual({ model: "mistral-x", stream: true });
  });
});
