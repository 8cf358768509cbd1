import type { ChatAdapter, ProviderTarget } from "../provider.ts";
import { providerContract } from "../provider-contract.ts";
import { readAll } from "../provider-contract-support.ts";
import { ollama } from "./provider.ts";

const target: ProviderTarget = {
  inferenceModelId: "qwen3:8b",
  apiKey: "secret-key-of-ours",
  params: { num_ctx: 32768, keep_alive: "10m" },
};

providerContract("ollama", ollama, { target, unsupported: ["n", "logprobs", "logit_bias", "parallel_tool_calls"] });

const build = (body: object, inferenceModelId = "qwen3:8b") => {
  const call = { body: { messages: [{ role: "user", content: "Hi" }], ...body }, stream: false, maxOutputTokens: 9 };
  return JSON.parse(String(ollama.chat?.buildRequest(call, { ...target, inferenceModelId }).body)) as Record<string, unknown>;
};

test("thinking has degrees only where the model has them", () => {
  expect(build({ reasoning_effort: "medium" }, "gpt-oss:20b")).toMatchObject({ think: "medium" });
  expect(build({ reasoning_effort: "medium" })).toMatchObject({ think: true });
  expect(build({ reasoning_effort: "none" })).toMatchObject({ think: false });
  expect(build({})).not.toHaveProperty("think");
});

test("what Ollama cannot take is the caller's mistake, by name", () => {
  const image = [{ role: "user", content: [{ type: "image_url", image_url: { url: "https://x.test/a.png" } }] }];
  expect(() => build({ messages: image })).toThrow(expect.objectContaining({ code: "INVALID_REQUEST", param: "messages" }));
});

test.each(["file", "input_audio", "video_url", "document_url"])("a part of the type %s is refused, not dropped", (type) => {
  const parts = [
    { type: "text", text: "Read." },
    { type, [type]: { file_data: "data:application/pdf;base64,AA==", data: "AA==", format: "wav" } },
  ];
  const refusal = { code: "INVALID_REQUEST", param: "messages", message: `This model does not support content parts of the type ${type}.` };
  expect(() => build({ messages: [{ role: "user", content: parts }] })).toThrow(expect.objectContaining(refusal));
});

test.each([
  ["{", { arguments: "{" }],
  ["[1]", { arguments: "[1]" }],
  ['"oslo"', { arguments: '"oslo"' }],
  ["", {}],
  ['{"city":"Oslo"}', { city: "Oslo" }],
])("arguments of an earlier tool call are an object: %s", (given, expected) => {
  const calls = [{ id: "a", type: "function", function: { name: "f", arguments: given } }];
  const { messages } = build({ messages: [{ role: "assistant", content: null, tool_calls: calls }] });
  expect(messages).toEqual([{ role: "assistant", content: "", tool_calls: [{ function: { name: "f", arguments: expected } }] }]);
});

test("an error line in a stream is an error, and a model that was only loaded gave no answer", async () => {
  async function* lines(...texts: string[]) {
    for (const data of texts) yield { event: undefined, data };
  }
  const call = { body: { messages: [] }, stream: true, maxOutputTokens: 9 };
  const read = (...texts: string[]) => readAll((ollama.chat as ChatAdapter).readStream(lines(...texts), call));
  await expect(read('{"message":{"content":"a"}}', '{"error":"runner died"}')).rejects.toMatchObject({ code: "UPSTREAM_UNAVAILABLE" });
  await expect(read('{"message":{"content":""},"done":true,"done_reason":"load"}')).rejects.toMatchObject({ code: "UPSTREAM_UNAVAILABLE" });
});

test("embeddings keep the order and are asked for in the length that the caller wants", () => {
  const request = ollama.embeddings?.buildRequest(
    { input: ["a", "b"], dimensions: undefined, body: { encoding_format: "base64" } },
    target,
  );
  expect(request?.url).toBe("http://localhost:11434/api/embed");
  expect(JSON.parse(String(request?.body))).toEqual({ model: "qwen3:8b", input: ["a", "b"], keep_alive: "10m" });
  const shorter = ollama.embeddings?.buildRequest({ input: ["a"], dimensions: 256, body: {} }, target);
  expect(JSON.parse(String(shorter?.body))).toMatchObject({ dimensions: 256 });
  expect(ollama.embeddings?.supportedParams("x")).toContain("dimensions");
  expect(ollama.embeddings?.readAnswer({ embeddings: [[1], [2]], prompt_eval_count: 4 })).toMatchObject({ vectors: [[1], [2]] });
  expect(() => ollama.embeddings?.readAnswer({})).toThrow(expect.objectContaining({ code: "UPSTREAM_UNAVAILABLE" }));
});
