import fc from "fast-check";
import { nanoUsd } from "../../../common/money.ts";
import { NO_USAGE } from "../../credit/pricing/usage.ts";
import { readOpenAiAnswer } from "../../upstream/providers/openai-compatible/answer.ts";
import type { ChatAnswer } from "../../upstream/providers/provider.ts";
import { chatCompletion, chatUsage } from "./chat-frames.ts";

const identity = { id: "chatcmpl-1", createdSeconds: 1_760_000_000, model: 'a "model"' };
const bill = { usage: { ...NO_USAGE, input: 7, cachedInput: 2, output: 5, reasoning: 3, audioOutput: 1 }, cost: nanoUsd(1n) };

/** The answer as an object of its fields would be serialized. */
function expected({ choices, extra }: ChatAnswer): string {
  return JSON.stringify({
    ...{ id: identity.id, object: "chat.completion", created: identity.createdSeconds, model: identity.model },
    choices: choices.map(({ index, message, finishReason, logprobs }) => ({
      index,
      message: { role: "assistant", content: null, refusal: null, ...message },
      logprobs,
      finish_reason: finishReason,
    })),
    usage: chatUsage(bill.usage),
    ...extra,
  });
}

const answerOf = (message: object, { others = {}, more = [] as object[] } = {}) => ({
  id: "chatcmpl-upstream",
  model: "gpt-4o",
  choices: [{ index: 0, message: { role: "assistant", ...message }, finish_reason: "stop" }, ...more],
  usage: { prompt_tokens: 9, completion_tokens: 9 },
  ...others,
});
const read = (body: object, text = JSON.stringify(body)) => readOpenAiAnswer(body, undefined, text);

test("a whole answer is what its fields would be serialized to, whatever its text is", () => {
  const texts = fc.oneof(
    fc.string({ unit: "grapheme" }),
    fc.string({ unit: "binary" }),
    fc.constantFrom('"content":', '\\"content":"', "\\"),
  );
  fc.assert(
    fc.property(texts, fc.boolean(), fc.boolean(), (content, isIndented, hasExtra) => {
      const body = answerOf({ content }, { others: hasExtra ? { system_fingerprint: content, service_tier: null } : {} });
      const answer = read(body, isIndented ? JSON.stringify(body, null, 2) : undefined);
      expect(chatCompletion(identity, { answer, bill })).toBe(expected(answer));
    }),
    { numRuns: 300 },
  );
});

test.each([
  ["tool calls", answerOf({ content: null, tool_calls: [{ id: "1", type: "function", function: { name: "f", arguments: "{}" } }] })],
  ["a refusal", answerOf({ content: null, refusal: "No." })],
  ["other fields", answerOf({ content: "a", annotations: [{ content: "b" }] })],
  ["several choices", answerOf({ content: "a" }, { more: [{ index: 1, message: { content: "b" }, finish_reason: "length" }] })],
])("an answer with %s, too", (_name, body) => {
  const answer = read(body);
  expect(chatCompletion(identity, { answer, bill })).toBe(expected(answer));
});

test("a text is sent as the upstream wrote it, and never another text of the answer", () => {
  const sent = (text: string) => {
    const answer = readOpenAiAnswer(JSON.parse(text), undefined, text);
    return { json: chatCompletion(identity, { answer, bill }), content: answer.choices[0]?.message["content"] };
  };
  const written = sent('{"choices":[{"message":{"role":"assistant","content": "caf\\u00e9 \\/ \\"x\\""}}]}');
  expect(written.content).toBe('caf\u00e9 / "x"');
  expect(written.json).toContain('"content":"caf\\u00e9 \\/ \\"x\\"","refusal":null');
  for (const text of [
    '{"a":{"content":"other"},"choices":[{"message":{"c\\u006fntent":"shown"}}]}',
    '{"a":{"content":"other"},"choices":[{"message":{"content":"shown"}}]}',
    '{"choices":[{"message":{"content":"shown"}}],"a":{"content":"other"}}',
    '{"choices":[{"message":{"content" :"shown"}}],"a":{"content":"other"}}',
  ]) {
    const { json } = sent(text);
    expect([json.includes("shown"), json.includes("other")]).toEqual([true, false]);
  }
});

test("a copy of a message with another text has nothing of the old one", () => {
  const answer = read(answerOf({ content: "secret" }));
  const [choice] = answer.choices;
  if (!choice) throw new Error("no choice");
  const masked = { ...answer, choices: [{ ...choice, message: { ...choice.message, content: "masked" } }] };
  const json = chatCompletion(identity, { answer: masked, bill });
  expect([json.includes("masked"), json.includes("secret")]).toEqual([true, false]);
});
