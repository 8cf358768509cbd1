import fc from "fast-check";
import { NO_USAGE, type Usage } from "../../credit/pricing/usage.ts";
import type { ChatAnswer, ChatChoice } from "../../upstream/providers/provider.ts";
import type { Bill } from "../inference/bill.ts";
import { chatCompletion, chatUsage } from "./chat-frames.ts";

const count = fc.nat(2 ** 40);
const usages: fc.Arbitrary<Usage> = fc.record({
  input: count,
  cachedInput: count,
  cacheWrite: count,
  output: count,
  reasoning: count,
  audioInput: count,
  audioOutput: count,
  source: fc.constant("provider" as const),
});
const text = fc.string({ unit: "binary" });
const messages = fc.oneof(
  fc.record({ content: text }),
  fc.record({ content: fc.option(text) }),
  fc.record(
    { content: fc.option(text), refusal: text, reasoning_content: text, tool_calls: fc.array(fc.jsonValue()) },
    { requiredKeys: [] },
  ),
);
const choices: fc.Arbitrary<ChatChoice> = fc.record({
  index: fc.nat(20),
  message: messages,
  finishReason: text,
  logprobs: fc.oneof(fc.constant(undefined), fc.constant(null), fc.jsonValue()),
});
const answers: fc.Arbitrary<ChatAnswer> = fc
  .record({
    choices: fc.array(choices, { minLength: 1, maxLength: 3 }),
    extra: fc.option(fc.dictionary(text, fc.jsonValue()), { nil: undefined }),
  })
  .map(({ choices: all, extra }) => ({ choices: all, usage: undefined, ...(extra && { extra: withoutFields(extra) }) }));

const FIELDS = ["id", "object", "created", "model", "choices", "usage"];

function withoutFields(extra: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(extra).filter(([name]) => !FIELDS.includes(name)));
}

test("a whole answer is the text that JSON.stringify would make of it", () => {
  fc.assert(
    fc.property(text, text, fc.nat(), answers, usages, (id, model, createdSeconds, answer, usage) => {
      const written = chatCompletion({ id, model, createdSeconds }, { answer, bill: { usage, cost: 0n } as Bill });
      const expected = {
        id,
        object: "chat.completion",
        created: createdSeconds,
        model,
        choices: answer.choices.map(({ index, message, finishReason, logprobs }) => ({
          index,
          message: { role: "assistant", content: null, refusal: null, ...message },
          logprobs,
          finish_reason: finishReason,
        })),
        usage: chatUsage(usage),
        ...answer.extra,
      };
      // Parsed too: keys that are numbers move to the front of an object, and of a part of it.
      expect(JSON.parse(written)).toEqual(JSON.parse(JSON.stringify(expected)));
      if (Object.keys(answer.extra ?? {}).every((name) => !/^\d+$/.test(name))) expect(written).toBe(JSON.stringify(expected));
    }),
  );
});

test("an answer without tokens says so", () => {
  const answer: ChatAnswer = { choices: [{ index: 0, message: { content: "" }, finishReason: "stop", logprobs: null }], usage: undefined };
  const written = chatCompletion(
    { id: "chatcmpl-1", model: "m", createdSeconds: 1 },
    { answer, bill: { usage: NO_USAGE, cost: 0n } as Bill },
  );
  expect(JSON.parse(written)).toMatchObject({ usage: { total_tokens: 0 }, choices: [{ message: { content: "", refusal: null } }] });
});
