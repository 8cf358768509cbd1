import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ChatAdapter, ChatBody, Fields, ProviderTarget, ProxiedAdapter } from "../provider.ts";
import { providerContract } from "../provider-contract.ts";
import { assembleParts, readAll } from "../provider-contract-support.ts";
import { readAwsEventStream } from "../shared/aws-event-stream.ts";
import { encodeEvent, encodeException } from "../shared/aws-event-stream-fixture.ts";
import { asFields, asList } from "../shared/json-fields.ts";
import { bedrock } from "./provider.ts";

const folder = join(import.meta.dirname, "../__fixtures__", "bedrock");
const chat = bedrock.chat as ChatAdapter;
const keys = { aws_access_key_id: "AKIDEXAMPLEKEYID", aws_secret_access_key: "aws-secret", aws_session_token: "aws-session" };
const target: ProviderTarget = {
  inferenceModelId: "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
  params: { aws_region_name: "us-east-1", ...keys },
};
const SCHEMA = { type: "object", properties: { name: { type: "string" } }, required: ["name"] };
const jsonFormat = { response_format: { type: "json_schema", json_schema: { name: "city", schema: SCHEMA } } };

/** Streams are stored as readable events and as their frames. */
function eventsOf(name: string): [type: string, payload: unknown][] {
  return JSON.parse(readFileSync(join(folder, `${name}.events.json`), "utf8")) as [string, unknown][];
}
const streams = readdirSync(folder).flatMap((file) => (file.endsWith(".events.json") ? [file.slice(0, -".events.json".length)] : []));
const framesOf = (name: string) => Buffer.concat(eventsOf(name).map(([type, payload]) => encodeEvent(type, payload)));
if (process.env["UPDATE_FIXTURES"] === "1") for (const name of streams) writeFileSync(join(folder, `${name}.bin`), framesOf(name));

providerContract("bedrock", bedrock, {
  target,
  secrets: Object.values(keys),
  unsupported: ["n", "logprobs", "logit_bias", "seed", "presence_penalty", "frequency_penalty"],
  bodies: { "json-tool": jsonFormat },
  readEvents: readAwsEventStream,
});

test.each(streams)("the frames of %s are those of its events", (name) => {
  expect(readFileSync(join(folder, `${name}.bin`)).equals(framesOf(name))).toBe(true);
});

function body(fields: Partial<ChatBody>, to: Partial<ProviderTarget> = {}, maxOutputTokens = 8192): Record<string, Fields> {
  const call = { body: { messages: [{ role: "user", content: "Hi" }], ...fields }, stream: false, maxOutputTokens };
  return JSON.parse(String(chat.buildRequest(call, { ...target, ...to }).body)) as Record<string, Fields>;
}
const parts = (...frames: Buffer[]) => {
  const bytes = (async function* () {
    yield* frames;
  })();
  return readAll(chat.readStream(readAwsEventStream(bytes), { body: { messages: [] }, stream: true, maxOutputTokens: 10 }));
};
const tool = (name: string) => ({ type: "function", function: { name, description: "", parameters: SCHEMA } });
const called = [
  { role: "user", content: "Time?" },
  { role: "assistant", tool_calls: [{ id: "call:1", type: "function", function: { name: "get_time", arguments: "" } }] },
  { role: "tool", tool_call_id: "call:1", content: "" },
];

describe("where a request goes", () => {
  const request = (to: Partial<ProviderTarget>, stream = false) =>
    chat.buildRequest({ body: { messages: [{ role: "user", content: "Hi" }] }, stream, maxOutputTokens: 8 }, { ...target, ...to });

  test("the region's host, the id in one encoded segment, and who signs", () => {
    const arn = "arn:aws:bedrock:eu-west-1:123456789012:inference-profile/eu.anthropic.claude:0";
    const { url, signing, headers } = request({ inferenceModelId: arn, params: keys }, true);
    const encoded = "arn%3Aaws%3Abedrock%3Aeu-west-1%3A123456789012%3Ainference-profile%2Feu.anthropic.claude%3A0";
    expect(url).toBe(`https://bedrock-runtime.eu-west-1.amazonaws.com/model/${encoded}/converse-stream`);
    expect(signing).toEqual({
      type: "aws-sigv4",
      service: "bedrock",
      region: "eu-west-1",
      accessKeyId: "AKIDEXAMPLEKEYID",
      secretAccessKey: "aws-secret",
      sessionToken: "aws-session",
    });
    expect(headers).not.toHaveProperty("authorization");
  });

  test("an API key of Bedrock is a bearer token and needs no signature", () => {
    const { headers, signing } = request({ apiKey: "secret-key", params: { aws_region_name: "us-east-1" } });
    expect(headers["authorization"]).toBe("Bearer secret-key");
    expect(signing).toBeUndefined();
  });

  test("a deployment without keys or region is our mistake, and a region cannot be a host", () => {
    const misconfigured = expect.objectContaining({ code: "UPSTREAM_UNAVAILABLE" });
    expect(() => request({ params: { aws_region_name: "us-east-1" } })).toThrow(misconfigured);
    expect(() => request({ params: keys })).toThrow(misconfigured);
    expect(() => request({ params: { ...keys, aws_region_name: "evil.test/" } })).toThrow(misconfigured);
  });
});

describe("tools", () => {
  test("none with tools offers nothing, and declares them only for calls in the history", () => {
    expect(body({ tools: [tool("get_time")], tool_choice: "none" })).not.toHaveProperty("toolConfig");
    const { toolConfig } = body({ messages: called, tools: [tool("get_time")], tool_choice: "none" });
    expect(toolConfig).toEqual({ tools: [{ toolSpec: { name: "get_time", inputSchema: { json: SCHEMA } } }] });
  });

  test("calls in the history without any tools are declared by their names", () => {
    const { toolConfig, messages } = body({ messages: called });
    expect(toolConfig).toEqual({ tools: [{ toolSpec: { name: "get_time", inputSchema: { json: { type: "object", properties: {} } } } }] });
    const [, assistant, user] = messages as unknown as { content: Fields[] }[];
    const id = asFields(assistant?.content[0]?.["toolUse"])["toolUseId"];
    expect(id).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
    expect(user?.content).toEqual([{ toolResult: { toolUseId: id, content: [] } }]);
  });

  test("a model that takes no named choice gets only that tool; one that takes none gets a free choice", () => {
    const asked = { tools: [tool("a"), tool("b")], tool_choice: { type: "function", function: { name: "b" } } };
    const names = (fields: Fields | undefined) => asList(fields?.["tools"]).map((each) => asFields(asFields(each)["toolSpec"])["name"]);
    const mistral = body(asked, { inferenceModelId: "mistral.mistral-large-2402-v1:0" })["toolConfig"];
    expect(names(mistral)).toEqual(["b"]);
    expect(mistral?.["toolChoice"]).toEqual({ any: {} });
    const llama = body(asked, { inferenceModelId: "meta.llama3-3-70b-instruct-v1:0" })["toolConfig"];
    expect(names(llama)).toEqual(["b"]);
    expect(llama?.["toolChoice"]).toEqual({ auto: {} });
  });
});

test("one tool call at a time is Claude's own field; other models do not claim it", () => {
  const asked = { tools: [tool("a")], parallel_tool_calls: false };
  expect(body(asked)["additionalModelRequestFields"]).toEqual({ tool_choice: { type: "auto", disable_parallel_tool_use: true } });
  const required = body({ ...asked, tool_choice: "required" })["additionalModelRequestFields"];
  expect(required).toEqual({ tool_choice: { type: "any", disable_parallel_tool_use: true } });
  expect(body({ parallel_tool_calls: false, store: true, user: "u" })).not.toHaveProperty("additionalModelRequestFields");
  expect(chat.supportedParams("amazon.nova-pro-v1:0")).not.toContain("parallel_tool_calls");
});

describe("JSON", () => {
  test("is asked for as a forced call, beside other tools as any call", () => {
    expect(body(jsonFormat)["toolConfig"]?.["toolChoice"]).toEqual({ tool: { name: "json_tool_call" } });
    expect(body({ ...jsonFormat, tools: [tool("a")] })["toolConfig"]?.["toolChoice"]).toEqual({ any: {} });
  });

  test("is asked for in words or natively where no call can be forced", () => {
    const llama = body(jsonFormat, { inferenceModelId: "meta.llama3-3-70b-instruct-v1:0" });
    expect(llama).not.toHaveProperty("toolConfig");
    expect(JSON.stringify(llama["system"])).toContain("JSON");
    const newest = body(jsonFormat, { inferenceModelId: "anthropic.claude-opus-5-5-v1:0" });
    expect(newest).not.toHaveProperty("system");
    expect(newest["outputConfig"]).toEqual({
      textFormat: { type: "json_schema", structure: { jsonSchema: { name: "answer", schema: JSON.stringify(SCHEMA) } } },
    });
  });
});

describe("the model's own fields", () => {
  test.each([
    ["anthropic.claude-sonnet-4-20250514-v1:0", { thinking: { type: "enabled", budget_tokens: 4096 } }],
    ["anthropic.claude-opus-4-6-v1", { thinking: { type: "adaptive" }, output_config: { effort: "high" } }],
    ["us.amazon.nova-2-lite-v1:0", { reasoningConfig: { type: "enabled", maxReasoningEffort: "high" } }],
    ["openai.gpt-oss-120b-1:0", { reasoning_effort: "high" }],
    ["meta.llama3-3-70b-instruct-v1:0", undefined],
  ])("effort for %s", (inferenceModelId, expected) => {
    expect(body({ reasoning_effort: "high" }, { inferenceModelId })["additionalModelRequestFields"]).toEqual(expected);
  });

  test("top_k goes where the family has it; unknown fields go to the model", () => {
    expect(body({ top_k: 5, foo: 1 })["additionalModelRequestFields"]).toEqual({ top_k: 5, foo: 1 });
    const nova = body({ top_k: 5 }, { inferenceModelId: "amazon.nova-pro-v1:0" });
    expect(nova["additionalModelRequestFields"]).toEqual({ inferenceConfig: { topK: 5 } });
  });

  test("the operator's guardrail is stronger than the caller's, and its trace says what it is billed for", () => {
    const params = { ...target.params, guardrailConfig: { guardrailIdentifier: "ours" } };
    expect(body({ guardrailConfig: { guardrailIdentifier: "theirs" } }, { params })["guardrailConfig"]).toEqual({
      guardrailIdentifier: "ours",
      trace: "enabled",
    });
  });

  test("a latency that costs more is the operator's choice, and refused from a caller", () => {
    const config = (latency?: unknown) => ({ performanceConfig: { latency } });
    for (const latency of ["optimized", "OPTIMIZED", "fastest", 1]) {
      const message = `performanceConfig.latency ${latency} costs more than the model's price, which this gateway cannot bill yet. Leave it out.`;
      const refused = expect.objectContaining({ code: "UNSUPPORTED_PARAMETER", param: "performanceConfig", message });
      expect(() => body(config(latency))).toThrow(refused);
    }
    expect(body(config("standard"))).toMatchObject(config("standard"));
    const params = { ...target.params, ...config("optimized") };
    for (const asked of [{}, config("standard"), config("optimized")]) expect(body(asked, { params })).toMatchObject(config("optimized"));
  });

  test("the operator can say what model stands behind a profile", () => {
    const to = { inferenceModelId: "abc123", params: { ...target.params, base_model: "anthropic.claude-opus-4-6-v1" } };
    expect(body({ reasoning_effort: "low" }, to)["additionalModelRequestFields"]).toMatchObject({ thinking: { type: "adaptive" } });
  });
});

describe("media", () => {
  const message = (...content: Fields[]) =>
    body({ messages: [{ role: "user", content }] })["messages"] as unknown as { content: Fields[] }[];
  const pdf = { type: "file", file: { filename: "a_b..c.pdf", file_data: "data:application/pdf;base64,JVBERi0=" } };

  test("documents have clean names, each once, and a text beside them", () => {
    expect(message(pdf, pdf)[0]?.content).toEqual([
      { document: { format: "pdf", name: "a b c pdf", source: { bytes: "JVBERi0=" } } },
      { document: { format: "pdf", name: "a b c pdf 2", source: { bytes: "JVBERi0=" } } },
      { text: "." },
    ]);
  });

  test("an image that is not in the request is refused, in S3 and elsewhere, and so is a kind that Converse does not know", () => {
    const image = (url: string) => ({ type: "image_url", image_url: { url } });
    const refused = expect.objectContaining({ code: "INVALID_REQUEST" });
    for (const url of ["s3://bucket/a.jpg", "https://upstream.test/a.png"]) {
      expect(() => message(image(url))).toThrow(refused);
      expect(() => message({ type: "file", file: { file_id: url } })).toThrow(refused);
    }
    expect(() => message(image("data:image/tiff;base64,AAAA"))).toThrow(refused);
  });

  test("a mark for the cache is a point after its part", () => {
    const marked = { type: "text", text: "Long.", cache_control: { type: "ephemeral", ttl: "1h" } };
    expect(message(marked)[0]?.content).toEqual([{ text: "Long." }, { cachePoint: { type: "default", ttl: "1h" } }]);
  });
});

describe("failures", () => {
  const start = encodeEvent("contentBlockDelta", { contentBlockIndex: 0, delta: { text: "a" } });

  test.each([
    ["throttlingException", "Too many requests", "RATE_LIMIT_EXCEEDED"],
    ["validationException", "Input is too long for requested model.", "CONTEXT_LENGTH_EXCEEDED"],
    ["validationException", "Something is wrong.", "INVALID_REQUEST"],
    ["internalServerException", "Oops", "UPSTREAM_UNAVAILABLE"],
    ["modelStreamErrorException", "Oops", "UPSTREAM_UNAVAILABLE"],
    ["serviceUnavailableException", "Oops", "UPSTREAM_UNAVAILABLE"],
  ])("%s in a stream: %s", async (type, message, code) => {
    await expect(parts(start, encodeException(type, { message }))).rejects.toMatchObject({ name: "AppError", code });
  });

  test("what the model could not write is no answer", async () => {
    const stop = encodeEvent("messageStop", { stopReason: "malformed_model_output" });
    await expect(parts(start, stop)).rejects.toMatchObject({ code: "UPSTREAM_UNAVAILABLE" });
  });

  test("a stream without usage is whole all the same", async () => {
    const whole = assembleParts(await parts(start, encodeEvent("messageStop", { stopReason: "end_turn" })));
    expect(whole).toMatchObject({ choices: [{ text: "a", finishReason: "stop" }], usage: undefined });
  });
});

test("a tool that Bedrock ran itself is not a call for the caller, whole and streamed", async () => {
  const toolUse = { name: "nova_code_interpreter", toolUseId: "t1", type: "server_tool_use" };
  const content = [
    { toolUse: { ...toolUse, input: { snippet: "2*3" } } },
    { toolResult: { toolUseId: "t1", type: "nova_code_interpreter_result", content: [{ json: { stdOut: "6" } }] } },
    { text: "It is 6." },
  ];
  const answer = { output: { message: { content } }, stopReason: "end_turn", usage: { inputTokens: 1, outputTokens: 2 } };
  const call = { body: { messages: [] }, stream: false, maxOutputTokens: 10 };
  expect(chat.readAnswer(answer, call).choices).toMatchObject([{ message: { content: "It is 6." }, finishReason: "stop" }]);
  const streamed = await parts(
    encodeEvent("contentBlockStart", { contentBlockIndex: 0, start: { toolUse } }),
    encodeEvent("contentBlockDelta", { contentBlockIndex: 0, delta: { toolUse: { input: "{}" } } }),
    encodeEvent("contentBlockStop", { contentBlockIndex: 0 }),
    encodeEvent("contentBlockDelta", { contentBlockIndex: 1, delta: { text: "It is 6." } }),
    encodeEvent("messageStop", { stopReason: "end_turn" }),
  );
  expect(streamed).toEqual([
    { type: "text-delta", choice: 0, text: "It is 6." },
    { type: "finish", choice: 0, reason: "stop" },
  ]);
});

describe("the Messages API, where the operator chooses it", () => {
  const messages = bedrock.messages as ProxiedAdapter;
  const asked = { model: "x", max_tokens: 9, stream: true, messages: [{ role: "user", content: [{ type: "hologram" }] }] };

  test("is InvokeModel, with the version and the betas that Bedrock has in the body", () => {
    expect([messages.isSpokenBy(target), messages.isSpokenBy({ ...target, info: { supports_messages: true } })]).toEqual([false, true]);
    const betas = ["context-1m-2025-08-07", "claude-code-20250219"];
    const sent = messages.buildRequest({ body: asked, stream: true, maxOutputTokens: 9, betas }, target);
    expect(sent.url).toMatch(/\/invoke-with-response-stream$/);
    expect(JSON.parse(String(sent.body))).toEqual({
      anthropic_version: "bedrock-2023-05-31",
      max_tokens: 9,
      messages: asked.messages,
      anthropic_beta: ["context-1m-2025-08-07"],
    });
  });

  test("events come out of their frames, and an exception is that error", async () => {
    const chunk = (fields: Fields) => encodeEvent("chunk", { bytes: Buffer.from(JSON.stringify(fields)).toString("base64") });
    const read = (...frames: Buffer[]) => {
      const bytes = (async function* () {
        yield* frames;
      })();
      return readAll(messages.readStream(readAwsEventStream(bytes)));
    };
    const start = chunk({ type: "message_start", message: { usage: { input_tokens: 3 } } });
    const delta = chunk({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Hi." } });
    const end = [chunk({ type: "message_delta", delta: {}, usage: { output_tokens: 2 } }), chunk({ type: "message_stop" })];
    const read1 = await read(start, delta, ...end);
    expect(read1.map((part) => ("text" in part ? part.text : part.type))).toEqual(["Hi.", "usage", "", ""]);
    expect(read1[1]).toMatchObject({ usage: { promptTokens: 3, completionTokens: 2 } });
    await expect(read(start, encodeException("throttlingException", { message: "Slow" }))).rejects.toMatchObject({
      code: "RATE_LIMIT_EXCEEDED",
    });
  });
});
