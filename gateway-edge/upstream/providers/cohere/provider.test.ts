import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { ChatAdapter, ChatBody, EmbeddingsAdapter, StreamPart } from "../provider.ts";
import { providerContract } from "../provider-contract.ts";
import { readSse } from "../shared/sse-reader.ts";
import { cohere } from "./provider.ts";

const chat = cohere.chat as ChatAdapter;
const embeddings = cohere.embeddings as EmbeddingsAdapter;
const target = (inferenceModelId: string) => ({ inferenceModelId, apiKey: "co-secret-key", params: {} });
const callOf = (body: Partial<ChatBody>) => ({
  body: { messages: [{ role: "user", content: "Hello" }], ...body },
  stream: false,
  maxOutputTokens: 256,
});
const bodyFor = (body: Partial<ChatBody>, model = "command-a-03-2025") =>
  JSON.parse(String(chat.buildRequest(callOf(body), target(model)).body)) as Record<string, unknown>;
const tool = (name: string) => ({ type: "function", function: { name, strict: true, parameters: { type: "object", properties: {} } } });

async function partsOf(...events: unknown[]): Promise<StreamPart[]> {
  const bytes = (async function* () {
    yield Buffer.from(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(""));
  })();
  const parts: StreamPart[] = [];
  for await (const part of chat.readStream(readSse(bytes), callOf({}))) parts.push(part);
  return parts;
}

const assembled = (parts: readonly StreamPart[]) =>
  parts.flatMap((part) => (part.type === "other-delta" ? (part.fields["tool_calls"] as { function?: { arguments?: string } }[]) : []));

providerContract("cohere", cohere, {
  target: target("command-a-reasoning-08-2025"),
  unsupported: ["n", "logit_bias", "logprobs", "top_logprobs", "parallel_tool_calls", "user"],
});

test("a named tool is the only one offered, and must be called", () => {
  const tools = [tool("a"), tool("b")];
  const named = { type: "function", function: { name: "b" } };
  expect(bodyFor({ tools, tool_choice: named })).toMatchObject({ tools: [{ function: { name: "b" } }], tool_choice: "REQUIRED" });
  expect(bodyFor({ tools, tool_choice: "none" })).toMatchObject({ tool_choice: "NONE" });
  expect(bodyFor({ tools, tool_choice: "auto" })).not.toHaveProperty("tool_choice");
  expect(() => bodyFor({ tools, tool_choice: { type: "function", function: { name: "c" } } })).toThrow(
    expect.objectContaining({ param: "tool_choice" }),
  );
  expect(chat.supportedParams("command-r-08-2024")).not.toContain("tool_choice");
  expect(chat.supportedParams("command-r7b-12-2024")).toContain("tool_choice");
});

test("what was said beside calls is their plan, and documents are left as they are", () => {
  const documents = [{ id: "1", data: { text: "Rain." } }];
  const call = { id: "x", type: "function", function: { name: "f", arguments: "" } };
  const { messages, ...others } = bodyFor({
    messages: [
      { role: "developer", content: "Brief." },
      { role: "assistant", content: "I look.", tool_calls: [call] },
    ],
    documents,
    frequency_penalty: -1,
    presence_penalty: 2,
  });
  expect(messages).toEqual([
    { role: "system", content: "Brief." },
    { role: "assistant", tool_calls: [{ ...call, function: { name: "f", arguments: "{}" } }], tool_plan: "I look." },
  ]);
  expect(others).toMatchObject({ documents, frequency_penalty: 0, presence_penalty: 1 });
});

test("effort is a budget where the model thinks", () => {
  const model = "command-a-reasoning-08-2025";
  expect(bodyFor({ reasoning_effort: "high" }, model)["thinking"]).toEqual({ type: "enabled", token_budget: 4096 });
  expect(bodyFor({ reasoning_effort: "none" }, model)["thinking"]).toEqual({ type: "disabled" });
  expect(bodyFor({ reasoning_effort: "high" })).not.toHaveProperty("thinking");
});

test("a failure at the end is an error, whole and streamed", async () => {
  const message = { role: "assistant", content: [] };
  expect(() => chat.readAnswer({ message, finish_reason: "ERROR" }, callOf({}))).toThrow(
    expect.objectContaining({ code: "UPSTREAM_UNAVAILABLE" }),
  );
  await expect(partsOf({ type: "message-end", delta: { finish_reason: "TIMEOUT" } })).rejects.toMatchObject({ code: "UPSTREAM_TIMEOUT" });
  await expect(partsOf({ message: "internal server error" })).rejects.toMatchObject({ code: "UPSTREAM_UNAVAILABLE" });
});

test("arguments that begin like null, or are none, come out whole", async () => {
  const start = { type: "tool-call-start", delta: { message: { tool_calls: { id: "x", function: { name: "f", arguments: "" } } } } };
  const more = (text: string) => ({ type: "tool-call-delta", delta: { message: { tool_calls: { function: { arguments: text } } } } });
  const end = [{ type: "tool-call-end" }, { type: "message-end", delta: { finish_reason: "COMPLETE" } }];
  const written = async (...texts: string[]) => {
    const parts = await partsOf(start, ...texts.map(more), ...end);
    expect(parts.at(-1)).toMatchObject({ reason: "tool_calls" });
    return assembled(parts)
      .map(({ function: called }) => called?.arguments ?? "")
      .join("");
  };
  expect(await written()).toBe("{}");
  expect(await written("nu", "ll")).toBe("{}");
  expect(await written(" ", "{", '"n":', "null}")).toBe(' {"n":null}');
});

test("embeddings say what they are for, and how long", () => {
  const call = { input: ["a", "b"], dimensions: 256, body: {} };
  const { url, headers, body } = embeddings.buildRequest(call, target("embed-v4.0"));
  expect([url, headers["authorization"]]).toEqual(["https://api.cohere.com/v2/embed", "Bearer co-secret-key"]);
  expect(JSON.parse(String(body))).toEqual({
    model: "embed-v4.0",
    texts: ["a", "b"],
    input_type: "search_document",
    embedding_types: ["float"],
    output_dimension: 256,
  });
  expect(() => embeddings.buildRequest(call, target("embed-english-v3.0"))).toThrow(
    expect.objectContaining({ code: "UNSUPPORTED_PARAMETER", param: "dimensions" }),
  );
  const answer = JSON.parse(readFileSync(join(__dirname, "../__fixtures__/cohere/embeddings.json"), "utf8"));
  expect(embeddings.readAnswer(answer)).toMatchObject({
    vectors: [
      [0.1, 0.2],
      [0.3, 0.4],
    ],
    usage: { promptTokens: 9 },
  });
});

test("what is billed is counted, else what was read and written; the parts never exceed their whole", () => {
  const usageOf = (usage: unknown) =>
    chat.readAnswer({ finish_reason: "COMPLETE", message: { content: [{ type: "text", text: "a" }] }, usage }, callOf({})).usage;
  const tokens = { input_tokens: 72, output_tokens: 8 };
  const whole = { cacheWriteTokens: 0, reasoningTokens: 0 };
  expect(usageOf({ billed_units: { input_tokens: 5, output_tokens: 6 }, tokens, cached_tokens: 64 })).toEqual({
    ...whole,
    promptTokens: 5,
    cachedTokens: 0,
    completionTokens: 6,
  });
  expect(usageOf({ billed_units: { search_units: 1 }, tokens, cached_tokens: 90 })).toEqual({
    ...whole,
    promptTokens: 72,
    cachedTokens: 72,
    completionTokens: 8,
  });
  expect(usageOf({ billed_units: {} })).toBeUndefined();
});
