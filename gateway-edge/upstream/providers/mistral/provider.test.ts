import fc from "fast-check";
import type { ProviderTarget } from "../provider.ts";
import { providerContract } from "../provider-contract.ts";
import { mistral } from "./provider.ts";

const target: ProviderTarget = { inferenceModelId: "mistral-large-latest", apiKey: "secret-key-of-ours", params: {} };

providerContract("mistral", mistral, { target, unsupported: ["logit_bias", "logprobs", "top_logprobs", "reasoning_effort"] });

const bodyFor = (body: object, inferenceModelId = "mistral-large-latest") => {
  const call = { body: { messages: [{ role: "user", content: "Hi" }], ...body }, stream: false, maxOutputTokens: 9 };
  return JSON.parse(String(mistral.chat?.buildRequest(call, { ...target, inferenceModelId }).body)) as Record<string, unknown>;
};

test("any id of a tool call becomes nine letters or digits, the same on the call and on its result", () => {
  fc.assert(
    fc.property(fc.string(), fc.string(), (first, second) => {
      const messages = [
        {
          role: "assistant",
          tool_calls: [first, second].map((id) => ({ id, type: "function", function: { name: "f", arguments: "{}" } })),
        },
        { role: "tool", tool_call_id: first, content: "1" },
      ];
      const [assistant, tool] = bodyFor({ messages })["messages"] as [{ tool_calls: { id: string }[] }, { tool_call_id: string }];
      const ids = assistant.tool_calls.map(({ id }) => id);
      expect(ids.every((id) => /^[A-Za-z0-9]{9}$/.test(id))).toBe(true);
      expect(tool.tool_call_id).toBe(ids[0]);
      expect(ids[0] === ids[1]).toBe(first === second);
    }),
  );
});

test("fields that Mistral does not know do not reach it", () => {
  expect(Object.keys(bodyFor({ user: "u", store: true, service_tier: "auto", seed: 1, safe_prompt: true })).sort()).toEqual([
    "max_tokens",
    "messages",
    "model",
    "random_seed",
    "safe_prompt",
  ]);
});

test("effort is on or off, and an empty turn of the assistant is left out", () => {
  expect(bodyFor({ reasoning_effort: "low" }, "magistral-medium-latest")).toMatchObject({ reasoning_effort: "high" });
  expect(bodyFor({ reasoning_effort: "none" }, "magistral-medium-latest")).toMatchObject({ reasoning_effort: "none" });
  expect(
    bodyFor({
      messages: [
        { role: "assistant", content: "" },
        { role: "user", content: "x" },
      ],
    })["messages"],
  ).toHaveLength(1);
});

test("embeddings: no encoding; the dimension has its own name", () => {
  const request = mistral.embeddings?.buildRequest({ input: ["a"], dimensions: 256, body: { user: "u" } }, target);
  expect(JSON.parse(String(request?.body))).toEqual({ model: "mistral-large-latest", input: ["a"], output_dimension: 256 });
  expect(mistral.embeddings?.supportedParams("mistral-embed")).toEqual([]);
});

test("documents, and the thinking of Mistral's own answers, are sent as they are", () => {
  const messages = [
    { role: "user", content: [{ type: "document_url", document_url: "https://a.test/d.pdf" }] },
    {
      role: "assistant",
      content: [
        { type: "thinking", thinking: [{ type: "text", text: "hm" }] },
        { type: "text", text: "ok" },
      ],
    },
  ];
  expect(bodyFor({ messages })["messages"]).toEqual(messages);
});
