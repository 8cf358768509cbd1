import { billLines } from "../../../../common/bill-lines.ts";
import type { Price } from "../../../../common/pricing.ts";
import type { Fields } from "../../../upstream/providers/provider.ts";

import { deployment, FakeControl, startEdge, type TestEdge } from "../testing/edge-fixture.ts";
import { jsonCaller } from "../testing/json-caller-fixture.ts";
import { type ScriptedAnswer, scriptedSend } from "../testing/scripted-send-fixture.ts";

const edges: TestEdge[] = [];
afterAll(() => Promise.all(edges.map((edge) => edge.close())));

const USD = 10n ** 15n;
const cents = (amount: bigint) => (amount * USD) / 100n;
/** 3 and 15 USD for a million tokens; everything beside them has a price of its own. */
const PRICES = {
  input: 3_000_000_000n,
  output: 15_000_000_000n,
  audioInput: 6_000_000_000n,
  webSearch: cents(1n),
  fees: {
    webSearchPreview: cents(2n),
    fileSearch: cents(3n),
    codeSession: cents(4n),
    generatedImage: cents(5n),
    guardrailUnit: cents(6n),
    requestLow: cents(7n),
    requestMedium: cents(8n),
    requestHigh: cents(9n),
    imageInput: 10_000_000_000n,
    imageOutput: 40_000_000_000n,
  },
} satisfies Omit<Price, "tiers" | "unit">;
const TOKENS_ONLY = { input: PRICES.input, output: PRICES.output };

const AWS = { aws_region_name: "us-east-1", aws_access_key_id: "id", aws_secret_access_key: "key" };
const KINDS = [
  ["claude", "anthropic", "claude-sonnet-4-5", {}],
  ["gpt", "openai", "gpt-5", {}],
  ["gpt-search", "openai", "gpt-4o-search-preview", {}],
  ["gpt-image", "openai", "gpt-image-1.5", {}],
  ["gemini", "gemini", "gemini-2.5-flash", {}],
  ["nova", "bedrock", "amazon.nova-lite-v1:0", AWS],
  ["nova-guarded", "bedrock", "amazon.nova-lite-v1:0", { ...AWS, guardrailConfig: { guardrailIdentifier: "g", guardrailVersion: "1" } }],
  ["sonar", "perplexity", "sonar", {}],
  ["grok", "xai", "grok-4", {}],
] as const;

const DEPLOYMENTS = KINDS.flatMap(([name, providerKind, inferenceModelId, params]) =>
  [PRICES, TOKENS_ONLY].map((prices) => {
    const modelName = prices === PRICES ? name : `${name}-tokens-only`;
    return deployment({ modelName, providerKind, inferenceModelId, apiKey: "up", params: JSON.stringify(params) }, prices);
  }),
);

async function open(answers: readonly ScriptedAnswer[]) {
  const control = new FakeControl();
  control.deployments = DEPLOYMENTS;
  control.balance = 10n ** 12n;
  const { send, requests } = scriptedSend(answers);
  const edge = await startEdge(control, { send });
  edges.push(edge);
  const { secret } = control.addKey();
  const call = jsonCaller(edge.url, secret);
  const post = (path: string, body: object) => call("POST", path, body);
  return { control, requests, post, bill: () => billed(control) };
}

/** The lines of the last call, by name: amount and cost in nano-USD. Their sum is what the call cost. */
function billed(control: FakeControl): Record<string, readonly [amount: bigint, nanoUsd: bigint]> {
  const row = [...control.settled.values()].at(-1);
  if (!row?.usage) throw new Error("no call was settled");
  const { amounts, ...usage } = row.usage;
  const named = Object.fromEntries((amounts?.amounts ?? []).map(({ unit, input, output }) => [unit, { input, output }]));
  const lines = billLines({ ...usage, amounts: named }, { unit: "token", ...PRICES });
  expect((lines.reduce((sum, { unrounded }) => sum + unrounded, 0n) + 999_999n) / 1_000_000n).toBe(row.cost);
  return Object.fromEntries(lines.map(({ name, amount, unrounded }) => [name, [amount, unrounded / 1_000_000n]]));
}

const message = (usage: object, content: readonly object[] = [{ type: "text", text: "hi" }]) =>
  JSON.stringify({ id: "m", type: "message", role: "assistant", model: "c", content, stop_reason: "end_turn", stop_sequence: null, usage });
const hi = { max_tokens: 100, messages: [{ role: "user", content: "hi" }] };
const PAIR = { input_tokens: 10, output_tokens: 2 };

test("a call with two web searches and a compaction: the lines of its bill add up to the provider's own figures", async () => {
  const usage = {
    input_tokens: 224,
    output_tokens: 22,
    server_tool_use: { web_search_requests: 2 },
    iterations: [
      { type: "compaction", input_tokens: 83_555, output_tokens: 154 },
      { type: "message", input_tokens: 224, output_tokens: 22 },
    ],
  };
  const { post, bill } = await open([message(usage)]);
  const tools = [{ type: "web_search_20250305", name: "web_search", max_uses: 5 }];
  expect((await post("/v1/messages", { ...hi, model: "claude", tools })).status).toBe(200);
  expect(bill()).toEqual({
    input: [83_779n, 83_779n * 3000n],
    output: [176n, 176n * 15_000n],
    search: [2n, 20_000_000n],
  });
});

const RAN = [
  { type: "server_tool_use", id: "s", name: "bash_code_execution", input: {} },
  { type: "text", text: "done" },
];
const CODE = { type: "code_execution_20250825", name: "code_execution" };

test.each([
  ["code that ran is a session", [CODE], RAN, { codeSession: [1n, 40_000_000n] }],
  ["code that was offered and did not run costs nothing", [CODE], [RAN[1]], {}],
  ["code beside the newer web tools is free", [CODE, { type: "web_fetch_20260209", name: "web_fetch" }], RAN, {}],
])("Anthropic: %s, whole, streamed and by chat", async (_what, tools, content, expected) => {
  const event = (type: string, fields: object) => `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
  const stream =
    event("message_start", { message: { id: "m", type: "message", role: "assistant", content: [], usage: PAIR } }) +
    content.map((block, index) => event("content_block_start", { index, content_block: block })).join("") +
    event("message_delta", { delta: { stop_reason: "end_turn" }, usage: PAIR }) +
    event("message_stop", {});
  const whole = message(PAIR, content as object[]);
  const { post, bill } = await open([whole, stream, whole, stream]);
  for (const path of ["/v1/messages", "/v1/chat/completions"]) {
    for (const fields of [{}, { stream: true }]) {
      expect((await post(path, { ...hi, ...fields, model: "claude", tools })).status).toBe(200);
      expect(bill()).toEqual({ input: [10n, 30_000n], output: [2n, 30_000n], ...expected });
    }
  }
});

const OUTPUT = [
  { type: "web_search_call", id: "1", status: "completed", action: { type: "search", query: "q" } },
  { type: "web_search_call", id: "2", status: "completed", action: { type: "open_page", url: "https://a.test" } },
  { type: "file_search_call", id: "3", status: "completed", queries: ["q"] },
  { type: "file_search_call", id: "4", status: "completed", queries: ["r"] },
  { type: "code_interpreter_call", id: "5", status: "completed", container_id: "cntr_1", code: "1" },
  { type: "code_interpreter_call", id: "6", status: "completed", container_id: "cntr_1", code: "2" },
  { type: "image_generation_call", id: "7", status: "completed", result: "" },
  { type: "message", id: "8", role: "assistant", status: "completed", content: [{ type: "output_text", text: "ok", annotations: [] }] },
];
const TOOLS = [
  { type: "web_search" },
  { type: "file_search", vector_store_ids: ["vs_1"] },
  { type: "code_interpreter", container: { type: "auto" } },
  { type: "image_generation" },
];
const response = (tools: readonly object[]) => ({
  id: "resp_up",
  object: "response",
  created_at: 1,
  status: "completed",
  model: "gpt-5",
  output: OUTPUT,
  tools,
  usage: { input_tokens: 10, output_tokens: 2, total_tokens: 12 },
});

test.each([
  ["web_search", { search: [1n, 10_000_000n] }],
  ["web_search_preview", { webSearchPreview: [1n, 20_000_000n] }],
])(
  "OpenAI's responses: each search (%s), each file search, one session per container, each image, whole and streamed",
  async (type, searches) => {
    const tools = [{ type }, ...TOOLS.slice(1)];
    const completed = `event: response.completed\ndata: ${JSON.stringify({ type: "response.completed", response: response(tools) })}\n\n`;
    const { post, bill, control } = await open([JSON.stringify(response(tools)), completed]);
    for (const fields of [{}, { stream: true }]) {
      expect((await post("/v1/responses", { model: "gpt", input: "x", tools, ...fields })).status).toBe(200);
      expect(bill()).toEqual({
        input: [10n, 30_000n],
        output: [2n, 30_000n],
        ...searches,
        fileSearch: [2n, 60_000_000n],
        codeSession: [1n, 40_000_000n],
        generatedImage: [1n, 50_000_000n],
      });
      expect(control.intents.at(-1)?.worstCase).toBeGreaterThan(bill()["fileSearch"]?.[1] ?? 0n);
    }
  },
);

const sse = (events: readonly ({ readonly type: string } & Fields)[]) =>
  events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join("");

/** The line of each fee of the last call. */
const feesIn = (lines: ReturnType<typeof billed>) =>
  Object.fromEntries(Object.entries(lines).flatMap(([name, [amount]]) => (name === "input" || name === "output" ? [] : [[name, amount]])));

test("a stream of OpenAI's responses that breaks before its usage is billed for the tools that had finished", async () => {
  const tools = [{ type: "web_search" }, ...TOOLS.slice(1)];
  const done = (item: Fields) => ({ type: "response.output_item.done", output_index: 0, item });
  const [search, opened] = OUTPUT.filter(({ type }) => type === "web_search_call");
  const code = OUTPUT.filter(({ type }) => type === "code_interpreter_call");
  const events = [
    { type: "response.created", response: { ...response(tools), output: [], usage: null } },
    ...[search, opened, ...code].flatMap((item) => (item ? [done(item)] : [])),
    { type: "response.output_item.added", output_index: 5, item: { type: "file_search_call", id: "f" } },
    { type: "response.output_text.delta", delta: "half an " },
  ];
  const { post, bill, control } = await open([{ body: sse(events), breaks: true }]);
  await post("/v1/responses", { model: "gpt", input: "x", tools, stream: true });
  expect(feesIn(bill())).toEqual({ search: 1n, codeSession: 1n });
  expect([...control.settled.values()].at(-1)?.usage?.source).toBe("estimated");
});

const PAID = [CODE, { type: "web_search_20250305", name: "web_search", max_uses: 5 }];
const FREE_CODE = [CODE, { type: "web_search_20260209", name: "web_search", max_uses: 5 }];

test.each([
  ["/v1/messages", "code is billed", PAID, { search: 1n, codeSession: 1n }],
  ["/v1/chat/completions", "code is billed", PAID, { search: 1n, codeSession: 1n }],
  ["/v1/messages", "code is free", FREE_CODE, { search: 1n }],
  ["/v1/chat/completions", "code is free", FREE_CODE, { search: 1n }],
])(
  "a stream of Anthropic's that breaks is billed for searches that found something and for code that ran: %s, %s",
  async (path, _what, tools, fees) => {
    const start = (block: Fields) => ({ type: "content_block_start", index: 0, content_block: block });
    const usage = { input_tokens: 9, output_tokens: 1 };
    const failed = { type: "web_search_tool_result_error", error_code: "unavailable" };
    const events = [
      { type: "message_start", message: { id: "m", type: "message", role: "assistant", content: [], usage } },
      start({ type: "server_tool_use", id: "s", name: "web_search", input: {} }),
      start({ type: "web_search_tool_result", tool_use_id: "s", content: [{ type: "web_search_result", url: "https://a.test" }] }),
      start({ type: "web_search_tool_result", tool_use_id: "t", content: failed }),
      start({ type: "server_tool_use", id: "c", name: "bash_code_execution", input: {} }),
      { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "half an " } },
    ];
    const { post, bill } = await open([{ body: sse(events), breaks: true }]);
    expect((await post(path, { ...hi, model: "claude", stream: true, tools })).status).toBe(200);
    expect(feesIn(bill())).toEqual(fees);
  },
);

test("a container that the request names was billed by the call that created it", async () => {
  const container = OUTPUT.find(({ type }) => type === "code_interpreter_call")?.container_id;
  expect(container).toBeDefined();
  const tools = [{ type: "code_interpreter", container }];
  const output = OUTPUT.filter(({ type }) => type === "code_interpreter_call");
  const others = [...output, { type: "code_interpreter_call", id: "other", container_id: "cntr_other", code: "1" }];
  const auto = [{ type: "code_interpreter", container: { type: "auto" } }];
  const { post, bill } = await open([
    JSON.stringify({ ...response(auto), output }),
    JSON.stringify({ ...response(tools), output }),
    JSON.stringify({ ...response(tools), output: others }),
  ]);
  expect((await post("/v1/responses", { model: "gpt", input: "x", tools: auto })).status).toBe(200);
  expect(feesIn(bill())).toEqual({ codeSession: 1n });
  expect((await post("/v1/responses", { model: "gpt", input: "x", tools })).status).toBe(200);
  expect(feesIn(bill())).toEqual({});
  expect((await post("/v1/responses", { model: "gpt", input: "x", tools })).status).toBe(200);
  expect(feesIn(bill())).toEqual({ codeSession: 1n });
});

const chat = (usage: object, model = "m") =>
  JSON.stringify({ id: "c", model, choices: [{ index: 0, message: { role: "assistant", content: "ok" }, finish_reason: "stop" }], usage });

test.each([
  [
    "gpt-search",
    chat({ prompt_tokens: 10, completion_tokens: 2 }, "gpt-4o-search-preview-2025-03-11"),
    { webSearchPreview: [1n, 20_000_000n] },
  ],
  ["sonar", chat({ prompt_tokens: 10, completion_tokens: 2, search_context_size: "low" }), { requestLow: [1n, 70_000_000n] }],
  ["sonar", chat({ prompt_tokens: 10, completion_tokens: 2, search_context_size: "high" }), { requestHigh: [1n, 90_000_000n] }],
])("models that always search bill it: %s", async (model, answer, expected) => {
  const { post, bill } = await open([answer]);
  expect((await post("/v1/chat/completions", { ...hi, model })).status).toBe(200);
  expect(bill()).toEqual({ input: [10n, 30_000n], output: [2n, 30_000n], ...expected });
});

test("xAI's live search is billed by the source", async () => {
  const { post, bill } = await open([chat({ prompt_tokens: 10, completion_tokens: 2, num_sources_used: 3 })]);
  expect((await post("/v1/chat/completions", { ...hi, model: "grok", search_parameters: { mode: "on" } })).status).toBe(200);
  expect(bill()).toMatchObject({ search: [3n, 30_000_000n] });
});

test("Gemini's sound and images have their own prices, in and out", async () => {
  const usageMetadata = {
    promptTokenCount: 30,
    candidatesTokenCount: 12,
    totalTokenCount: 42,
    promptTokensDetails: [
      { modality: "TEXT", tokenCount: 5 },
      { modality: "AUDIO", tokenCount: 20 },
      { modality: "IMAGE", tokenCount: 5 },
    ],
    candidatesTokensDetails: [{ modality: "IMAGE", tokenCount: 10 }],
  };
  const candidates = [{ content: { role: "model", parts: [{ text: "ok" }] }, finishReason: "STOP" }];
  const { post, bill } = await open([JSON.stringify({ candidates, usageMetadata })]);
  expect((await post("/v1/chat/completions", { ...hi, model: "gemini" })).status).toBe(200);
  expect(bill()).toEqual({
    input: [5n, 15_000n],
    imageInput: [5n, 50_000n],
    audioInput: [20n, 120_000n],
    output: [2n, 30_000n],
    imageOutput: [10n, 400_000n],
  });
});

test("the output of an image model is images, unless it says otherwise", async () => {
  const usage = { input_tokens: 20, output_tokens: 100, total_tokens: 120, input_tokens_details: { text_tokens: 5, image_tokens: 15 } };
  const { post, bill } = await open([JSON.stringify({ created: 1, data: [{ b64_json: "aGk=" }], usage })]);
  expect((await post("/v1/images/generations", { model: "gpt-image", prompt: "a cat" })).status).toBe(200);
  expect(bill()).toEqual({ input: [5n, 15_000n], imageInput: [15n, 150_000n], imageOutput: [100n, 4_000_000n] });
});

test("Bedrock's guardrail is billed by the text units of its trace, the operator's and the caller's", async () => {
  const metrics = (usage: object) => ({ invocationMetrics: { usage } });
  const answer = JSON.stringify({
    output: { message: { role: "assistant", content: [{ text: "ok" }] } },
    stopReason: "end_turn",
    usage: { inputTokens: 10, outputTokens: 2, totalTokens: 12 },
    trace: {
      guardrail: {
        inputAssessment: { g: metrics({ topicPolicyUnits: 1, contentPolicyUnits: 1, wordPolicyUnits: 1 }) },
        outputAssessments: { g: [metrics({ sensitiveInformationPolicyUnits: 1, sensitiveInformationPolicyFreeUnits: 1 })] },
      },
    },
  });
  const { post, bill, requests } = await open([answer, answer]);
  for (const body of [{ model: "nova-guarded" }, { model: "nova", guardrailConfig: { guardrailIdentifier: "g" } }]) {
    expect((await post("/v1/chat/completions", { ...hi, ...body })).status).toBe(200);
    expect(bill()).toMatchObject({ guardrailUnit: [3n, 180_000_000n] });
  }
  const sent = requests.map(({ body }) => (JSON.parse(String(body)) as Fields)["guardrailConfig"]);
  expect(sent).toEqual([expect.objectContaining({ trace: "enabled" }), expect.objectContaining({ trace: "enabled" })]);
});

test.each([
  ["/v1/messages", { ...hi, model: "claude", tools: [CODE] }, "code_interpreter_cost_per_session", "fees.codeSession"],
  ["/v1/responses", { model: "gpt", input: "x", tools: [TOOLS[0]] }, "search_context_cost_per_query", "webSearch"],
  ["/v1/responses", { model: "gpt", input: "x", tools: [TOOLS[1]] }, "file_search_cost_per_1k_calls", "fees.fileSearch"],
  ["/v1/responses", { model: "gpt", input: "x", tools: [TOOLS[3]] }, "image_generation_cost_per_image", "fees.generatedImage"],
  ["/v1/chat/completions", { ...hi, model: "gpt-search" }, "web_search_preview_cost_per_call", "fees.webSearchPreview"],
  ["/v1/chat/completions", { ...hi, model: "sonar" }, "search_context_size_high", "fees.requestHigh"],
  ["/v1/chat/completions", { ...hi, model: "grok", search_parameters: { mode: "auto" } }, "search_context_cost_per_query", "webSearch"],
  ["/v1/chat/completions", { ...hi, model: "nova-guarded" }, "guardrail_cost_per_text_unit", "fees.guardrailUnit"],
])(
  "what has a fee without a price is refused before it is sent, with the two ways to price it: %s %j",
  async (path, body, setting, field) => {
    const { post, requests } = await open([]);
    const { status, json } = await post(path, { ...body, model: `${body.model}-tokens-only` });
    expect([status, JSON.stringify(json)]).toEqual([400, expect.stringContaining(`model_info.${setting}`)]);
    expect(JSON.stringify(json)).toContain(`pricing.${field} in POST /api/admin/models`);
    expect(requests).toHaveLength(0);
  },
);
