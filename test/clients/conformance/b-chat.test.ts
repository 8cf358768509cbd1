import { BadRequestError, InternalServerError } from "openai";
import { ContentFilterFinishReasonError } from "openai/core/error";
import type { ChatCompletionMessageParam } from "openai/resources";
import { call } from "../../helpers/api.ts";
import { type Bench, nodeClient, startBench, TIME, user, WEATHER } from "./bench.ts";
import { python, testCases, testScript } from "./cases.ts";
import { CHAT_DIALECTS, groupOf, upstreamModel } from "./gateway-config.ts";

let bench: Bench;

beforeAll(async () => {
  bench = await startBench();
});
afterAll(() => bench?.stop());

const create = (model: string, more: object = {}, messages: ChatCompletionMessageParam[] = user("hi")) =>
  nodeClient(bench).openai.chat.completions.create({ model, messages, ...more, stream: false });
const failure = (work: Promise<unknown>) =>
  work.then(
    () => undefined,
    (error: unknown) => error,
  );

const CITY_SCHEMA = {
  type: "json_schema" as const,
  json_schema: {
    name: "city",
    strict: true,
    schema: {
      type: "object",
      properties: { name: { type: "string" }, people: { type: "integer" } },
      required: ["name", "people"],
      additionalProperties: false,
    },
  },
};
const parse = (model: string) =>
  nodeClient(bench).openai.chat.completions.parse({ model, messages: user("a city"), response_format: CITY_SCHEMA });

const OPTIONAL =
  "frequency_penalty presence_penalty logit_bias logprobs top_logprobs max_tokens max_completion_tokens n response_format seed service_tier stop stream stream_options temperature top_p tools tool_choice parallel_tool_calls functions function_call user metadata modalities audio prediction reasoning_effort store verbosity web_search_options safety_identifier prompt_cache_key".split(
    " ",
  );

const SIX_ROLES = [
  { role: "developer", content: "Prefer metric units." },
  { role: "system", content: "Be brief." },
  { role: "user", content: "Oslo?", name: "ann" },
  {
    role: "assistant",
    content: null,
    tool_calls: [{ id: "call_1", type: "function", function: { name: "get_weather", arguments: '{"city":"Oslo"}' } }],
  },
  { role: "tool", tool_call_id: "call_1", content: "7" },
  { role: "assistant", content: null, function_call: { name: "get_weather", arguments: "{}" } },
  { role: "function", name: "get_weather", content: "18" },
  { role: "user", content: "Thanks." },
];

testCases("openai-node", {
  B1: async () => {
    const nulls = Object.fromEntries(OPTIONAL.map((name) => [name, null]));
    for (const dialect of CHAT_DIALECTS) {
      const answer = await create(dialect, nulls);
      expect([dialect, answer.choices[0]?.message.content]).toEqual([dialect, "pong"]);
      expect(bench.fake.last(upstreamModel(dialect)).bodyText).not.toContain("null");
    }
  },
  B2: async () => {
    await create("oai", {}, SIX_ROLES as unknown as ChatCompletionMessageParam[]);
    expect(bench.fake.last("pong").body.messages).toEqual(SIX_ROLES);
  },
  B4: async () => {
    const { choices } = await create("oai", { n: 3 });
    expect(choices.map(({ index, message }) => [index, message.content])).toEqual([
      [0, "pong"],
      [1, "pong#1"],
      [2, "pong#2"],
    ]);
  },
  B5: async () => {
    const answer = await create("anth", { n: 2 }).catch((error: unknown) => error);
    if (answer instanceof BadRequestError) expect(answer).toMatchObject({ code: "unsupported_parameter", param: "n" });
    else expect((answer as { choices: unknown[] }).choices).toHaveLength(2);
  },
  B7: async () => {
    for (const dialect of ["oai", "anth", "gem", "bed", "coh", "mis"] as const) {
      const named = { type: "function", function: { name: "get_weather" } };
      const { choices } = await create(groupOf(dialect, "tools"), { tools: [WEATHER, TIME], tool_choice: named });
      const [{ message, finish_reason } = { message: undefined, finish_reason: "" }] = choices;
      const [made] = message?.tool_calls ?? [];
      if (made?.type !== "function") throw new Error(`${dialect} made no call`);
      expect([dialect, made.function.name, JSON.parse(made.function.arguments), finish_reason, message?.content]).toEqual([
        dialect,
        "get_weather",
        { city: "Oslo" },
        "tool_calls",
        null,
      ]);
      expect(made.id).toMatch(/./);
      expectNamedTool[dialect](bench.fake.last(upstreamModel(dialect, "tools")).body);
    }
  },
  B8: async () => {
    for (const dialect of CHAT_DIALECTS) {
      const group = groupOf(dialect, "tools");
      const first = (await create(group, { tools: [WEATHER] })).choices[0]?.message;
      const id = first?.tool_calls?.[0]?.id ?? "";
      const history = [...user("hi"), first, { role: "tool", tool_call_id: id, content: "7" }] as ChatCompletionMessageParam[];
      const second = await create(group, { tools: [WEATHER] }, history);
      expect([dialect, second.choices[0]?.message.content, second.choices[0]?.finish_reason]).toEqual([
        dialect,
        "It is 7 degrees.",
        "stop",
      ]);
      expectToolResult[dialect](bench.fake.last(upstreamModel(dialect, "tools")).body);
    }
  },
  B10: async () => {
    const { choices } = await create("bed", { tools: [WEATHER], tool_choice: "none" });
    expect(choices[0]?.message.content).toBe("pong");
    expect(bench.fake.last(upstreamModel("bed")).body.toolConfig).toBeUndefined();
    // With calls in the history Bedrock wants the tools to be there; that no call is wanted cannot be said.
    const made = SIX_ROLES.slice(2, 5) as unknown as ChatCompletionMessageParam[];
    expect((await create("bed", { tools: [WEATHER], tool_choice: "none" }, made)).choices[0]?.message.content).toBe("pong");
  },
  B11: async () => {
    for (const group of ["anth-json", "anth-native-json"]) {
      const [choice] = (await parse(group)).choices;
      expect(choice?.message.parsed).toEqual({ name: "Oslo", people: 717710 });
      expect([choice?.finish_reason, choice?.message.tool_calls ?? []]).toEqual(["stop", []]);
    }
    expect(bench.fake.last(upstreamModel("anth", "json")).body.tool_choice).toMatchObject({ type: "tool" });
    expect(bench.fake.last("claude-sonnet-4-5--json").body.output_config.format.type).toBe("json_schema");
  },
  B13: async () => {
    for (const dialect of ["oai", "anth", "gem", "bed"] as const) {
      const group = groupOf(dialect, "filtered");
      expect([dialect, (await create(group)).choices[0]?.finish_reason]).toEqual([dialect, "content_filter"]);
      expect(await failure(parse(group))).toBeInstanceOf(ContentFilterFinishReasonError);
    }
  },
  B14: async () => {
    const client = nodeClient(bench);
    const before = bench.fake.of(upstreamModel("gem", "prompt-blocked")).length;
    const error = await failure(client.openai.chat.completions.create({ model: "gem-prompt-blocked", messages: user("hi") }));
    expect(error).toBeInstanceOf(BadRequestError);
    expect(error).toMatchObject({ code: "content_policy_violation" });
    expect([client.attempts, bench.fake.of(upstreamModel("gem", "prompt-blocked")).length - before]).toEqual([1, 1]);
  },
  B16: async () => {
    for (const dialect of CHAT_DIALECTS) {
      const before = bench.fake.of(upstreamModel(dialect, "context-error")).length;
      const error = await failure(create(groupOf(dialect, "context-error")));
      expect(error).toMatchObject({ status: 400, code: "context_length_exceeded" });
      expect(bench.fake.of(upstreamModel(dialect, "context-error"))).toHaveLength(before + 1);
    }
    expect((await create("context-guarded")).choices[0]?.message.content).toBe("from the fallback");
  },
  B17: async () => {
    const { usage } = await create("anth-usage-cache");
    expect(usage).toMatchObject({
      prompt_tokens: 2255,
      completion_tokens: 5,
      total_tokens: 2260,
      prompt_tokens_details: { cached_tokens: 512 },
    });
  },
  B19: async () => {
    expect((await create("bed-two-blocks")).choices[0]?.message.content).toBe("ab");
  },
  B20: async () => {
    const sent = async (group: string, model: string) => {
      const { choices } = await create(group, { reasoning_effort: "high" });
      expect([group, choices[0]?.message.content]).toEqual([group, "42"]);
      expect(choices[0]?.message).toMatchObject({ reasoning_content: "Let me think." });
      return bench.fake.last(model).body;
    };
    expect((await sent("anth-budget", "claude-3-7-sonnet-20250219--thinking")).thinking).toMatchObject({
      type: "enabled",
      budget_tokens: expect.any(Number),
    });
    const adaptive = await sent("anth-adaptive", "claude-opus-4-6--thinking");
    expect([adaptive.thinking.type, adaptive.output_config.effort]).toEqual(["adaptive", "high"]);
    const budget = (await sent("gem-budget", "gemini-2.5-flash--thinking")).generationConfig.thinkingConfig;
    expect(budget).toMatchObject({ thinkingBudget: expect.any(Number), includeThoughts: true });
    const level = (await sent("gem-level", "gemini-3-pro-preview--thinking")).generationConfig.thinkingConfig;
    expect(level).toMatchObject({ thinkingLevel: "high" });
    expect((await sent("dee-thinking", upstreamModel("dee", "thinking"))).thinking).toEqual({ type: "enabled" });
  },
  B22: async () => {
    const client = nodeClient(bench, { maxRetries: 0 });
    const error = await failure(client.openai.chat.completions.create({ model: "gem-malformed", messages: user("hi") }));
    expect(error).toBeInstanceOf(InternalServerError);
  },
  B23: async () => {
    const gateway = { fallbacks: ["oai-other"], num_retries: 1, guardrails: [], caching: false };
    expect((await create("oai", { foo: 1, ...gateway })).choices[0]?.message.content).toBe("pong");
    const { body } = bench.fake.last("pong");
    for (const name of Object.keys(gateway)) expect(body).not.toHaveProperty(name);
    // Fields that the gateway does not know pass to the provider, which accepts or refuses them.
    expect(body.foo).toBe(1);
  },
  B29: async () => {
    const first = (await create("gem-signed", { tools: [WEATHER] })).choices[0]?.message.tool_calls?.[0];
    if (first?.type !== "function") throw new Error("no call");
    // A client that keeps what it knows and drops the rest.
    const kept = { id: first.id, type: first.type, function: first.function };
    const history = [
      ...user("hi"),
      { role: "assistant", content: null, tool_calls: [kept] },
      { role: "tool", tool_call_id: kept.id, content: "7" },
    ] as ChatCompletionMessageParam[];
    expect((await create("gem-signed", { tools: [WEATHER] }, history)).choices[0]?.message.content).toBe("It is 7 degrees.");
    const parts = bench.fake.last("gemini-3-pro-preview--tools").body.contents.flatMap((turn: { parts: object[] }) => turn.parts);
    const called = parts.find((part: object) => "functionCall" in part);
    expect(["c2lnbmF0dXJlLW9mLWdlbWluaQ==", "skip_thought_signature_validator"]).toContain(called.thoughtSignature);
  },
});

type Body = ReturnType<typeof JSON.parse>;

const expectNamedTool = {
  oai: ({ tool_choice }: Body) => expect(tool_choice).toEqual({ type: "function", function: { name: "get_weather" } }),
  anth: ({ tool_choice }: Body) => expect(tool_choice).toMatchObject({ type: "tool", name: "get_weather" }),
  gem: ({ toolConfig }: Body) =>
    expect(toolConfig.functionCallingConfig).toMatchObject({ mode: "ANY", allowedFunctionNames: ["get_weather"] }),
  bed: ({ toolConfig }: Body) => expect(toolConfig.toolChoice).toEqual({ tool: { name: "get_weather" } }),
  coh: ({ tools, tool_choice }: Body) => expect([tools.length, tool_choice]).toEqual([1, "REQUIRED"]),
  mis: ({ tools, tool_choice }: Body) => expect([tools.length, tool_choice]).toEqual([1, "any"]),
};

const openAiResult = ({ messages }: Body) => {
  const [assistant, tool] = messages.slice(-2);
  expect([assistant.role, tool.role, tool.content, tool.tool_call_id]).toEqual(["assistant", "tool", "7", assistant.tool_calls[0].id]);
};
const expectToolResult = {
  oai: openAiResult,
  azu: openAiResult,
  anth: ({ messages }: Body) => {
    const [assistant, result] = messages.slice(-2);
    const { id, name, input } = assistant.content.at(-1);
    expect([result.role, name, input]).toEqual(["user", "get_weather", { city: "Oslo" }]);
    expect(result.content[0]).toMatchObject({ type: "tool_result", tool_use_id: id });
  },
  gem: ({ contents }: Body) => {
    const { functionResponse } = contents.at(-1).parts[0];
    expect(functionResponse).toMatchObject({ name: "get_weather", response: expect.any(Object) });
  },
  bed: ({ messages }: Body) => {
    const [assistant, result] = messages.slice(-2);
    expect(result.content[0].toolResult.toolUseId).toBe(assistant.content.at(-1).toolUse.toolUseId);
  },
  coh: openAiResult,
  mis: (body: Body) => {
    openAiResult(body);
    expect(body.messages.at(-1).tool_call_id).toMatch(/^[A-Za-z0-9]{9}$/);
  },
  oll: ({ messages }: Body) => {
    const [assistant, tool] = messages.slice(-2);
    expect(assistant.tool_calls[0].function).toMatchObject({ name: "get_weather", arguments: { city: "Oslo" } });
    expect(tool).toMatchObject({ role: "tool", content: "7" });
  },
};

testScript({
  client: "openai-python",
  ids: ["B1", "B2", "B4", "B5", "B7", "B8", "B10", "B11", "B13", "B14", "B16", "B17", "B19", "B20", "B22", "B23", "B29"],
  command: python("b_chat.py"),
  bench: () => bench,
});

test("no secret of a provider reached a client or a log", async () => {
  const info = await call(bench.system.url, "GET", "/model/info", { key: bench.key });
  for (const text of [info.text, bench.system.logs()])
    for (const secret of ["canary-upstream-key-5c1e", "canary-aws-secret"]) expect(text).not.toContain(secret);
});
