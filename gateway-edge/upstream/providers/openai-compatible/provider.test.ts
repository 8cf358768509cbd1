import { openaiCompatible } from "../../../../common/providers/openai-compatible.ts";
import { PROVIDER_KINDS } from "../../../../common/providers/shared/registry.ts";
import type { ProviderTarget } from "../provider.ts";
import { providerContract } from "../provider-contract.ts";
import { readAll } from "../provider-contract-support.ts";
import { providers } from "../registry.ts";
import { createCompatibleProvider } from "./provider.ts";

const target: ProviderTarget = {
  inferenceModelId: "some-model",
  apiKey: "secret-key-of-ours",
  baseUrl: "https://models.test/v1",
  params: {},
};
const chatOf = (kind: string) => {
  const chat = providers.get(kind)?.chat;
  if (!chat) throw new Error(kind);
  return chat;
};
const bodyFor = (kind: string, body: object, inferenceModelId = "m") => {
  const call = { body: { messages: [{ role: "user", content: "Hi" }], ...body }, stream: false, maxOutputTokens: 9 };
  return JSON.parse(String(chatOf(kind).buildRequest(call, { ...target, inferenceModelId }).body)) as Record<string, unknown>;
};

providerContract("compatible", createCompatibleProvider(openaiCompatible), {
  target,
  nullable: ["content"],
  secrets: ["org_01abcdefgh", "user_2abcdefgh"],
});

test.each(PROVIDER_KINDS.filter(({ compatible }) => compatible))(
  "$kind is called at its address, or has to be given one",
  (declaration) => {
    const { kind, baseUrl } = declaration;
    const call = { body: { messages: [{ role: "user", content: "Hi" }] }, stream: false, maxOutputTokens: 9 };
    const url = () => chatOf(kind).buildRequest(call, { inferenceModelId: "m", params: {} }).url;
    if (baseUrl === undefined) expect(url).toThrow(expect.objectContaining({ code: "UPSTREAM_UNAVAILABLE" }));
    else expect(url()).toBe(`${baseUrl}/chat/completions`);
  },
);

test("DeepSeek: effort turns thinking on or off, a schema is said in words", () => {
  expect(bodyFor("deepseek", { reasoning_effort: "high" })).toMatchObject({ thinking: { type: "enabled" }, max_tokens: 9 });
  expect(bodyFor("deepseek", { reasoning_effort: "none" })).toMatchObject({ thinking: { type: "disabled" } });
  const format = { type: "json_schema", json_schema: { name: "x", schema: { type: "object", required: ["city"] } } };
  const body = bodyFor("deepseek", { response_format: format });
  expect(body["response_format"]).toEqual({ type: "json_object" });
  expect(JSON.stringify(body["messages"])).toContain("city");
});

test("Groq: no names on messages and no n; Fireworks: never cuts a prompt; xAI: no stop on reasoning models", () => {
  expect(bodyFor("groq", { messages: [{ role: "user", content: "x", name: "ann" }] })["messages"]).toEqual([
    { role: "user", content: "x" },
  ]);
  expect(chatOf("groq").supportedParams("x")).not.toContain("n");
  expect(bodyFor("fireworks_ai", {})).toMatchObject({ context_length_exceeded_behavior: "error" });
  expect(chatOf("xai").supportedParams("grok-4")).not.toContain("stop");
  expect(chatOf("xai").supportedParams("grok-2")).toContain("stop");
});

test("ids and users that other APIs make longer than OpenAI takes are shortened, an id equally on a call and its result", () => {
  const [long, short] = [`call_0123__thought__${"A".repeat(600)}`, "call_short"];
  const messages = [
    {
      role: "assistant",
      content: null,
      tool_calls: [long, short].map((id) => ({ id, type: "function", function: { name: "f", arguments: "{}" } })),
    },
    { role: "tool", tool_call_id: long, content: "7" },
    { role: "tool", tool_call_id: short, content: "8" },
  ];
  const user = `user_${"0".repeat(64)}_account__session_${"0".repeat(36)}`;
  const body = bodyFor("openai", { messages, user });
  const [made, first, second] = body["messages"] as { tool_calls: { id: string }[]; tool_call_id: string }[];
  const ids = made?.tool_calls.map(({ id }) => id);
  expect(ids).toEqual([first?.tool_call_id, second?.tool_call_id]);
  expect(ids?.[0]?.length).toBeLessThanOrEqual(40);
  expect(ids?.[1]).toBe(short);
  expect(body["user"]).toMatch(/^[0-9a-f]{64}$/);
  expect(bodyFor("openai", { messages, user: "ann" })["user"]).toBe("ann");
});

test("an operator's extra body is sent, but cannot change the model", () => {
  const call = { body: { messages: [] }, stream: false, maxOutputTokens: 9 };
  const request = chatOf("vllm").buildRequest(call, { ...target, params: { extra_body: { top_k: 5, model: "other" } } });
  expect(JSON.parse(String(request.body))).toMatchObject({ top_k: 5, model: "some-model" });
});

test("an error inside a 200 is that error, whole or streamed", async () => {
  const call = { body: { messages: [] }, stream: false, maxOutputTokens: 9 };
  const error = { code: 429, message: "Rate limited", metadata: {} };
  for (const body of [{ error }, { choices: [{ error, message: {} }] }]) {
    expect(() => chatOf("openrouter").readAnswer(body, call)).toThrow(expect.objectContaining({ code: "RATE_LIMIT_EXCEEDED" }));
  }
  const read = (chunk: object) => {
    async function* events() {
      yield { event: undefined, data: JSON.stringify(chunk) };
    }
    return readAll(chatOf("openrouter").readStream(events(), call));
  };
  await expect(read({ error, choices: [] })).rejects.toMatchObject({ code: "RATE_LIMIT_EXCEEDED" });
  await expect(read({ choices: [{ delta: {}, finish_reason: "error" }] })).rejects.toMatchObject({ code: "UPSTREAM_UNAVAILABLE" });
  await expect(read({ choices: [], x_groq: { error: "over" } })).rejects.toMatchObject({ code: "UPSTREAM_UNAVAILABLE" });
});
