import { keepSupported } from "./params.ts";

test("a field the model does not understand is refused by name, or left out where that is allowed", () => {
  const body = { messages: [], temperature: 1, seed: 5, foo: 1 };
  expect(() => keepSupported(body, ["temperature"], false)).toThrow(
    expect.objectContaining({ code: "UNSUPPORTED_PARAMETER", param: "seed" }),
  );
  expect(keepSupported(body, ["temperature"], true)).toEqual({ messages: [], temperature: 1, foo: 1 });
  expect(keepSupported(body, ["temperature", "seed"], false)).toBe(body);
});

test("parameters without effect are dropped, and output limits are always allowed", () => {
  const neutral = { n: 1, presence_penalty: 0, logprobs: false, temperature: 1, top_p: 1, parallel_tool_calls: true, max_tokens: 5 };
  expect(keepSupported(neutral, [], false)).toEqual({ max_tokens: 5 });
  for (const asked of [
    { n: 2 },
    { presence_penalty: 0.5 },
    { logprobs: true },
    { temperature: 0.9 },
    { top_p: 0.5 },
    { parallel_tool_calls: false },
  ]) {
    expect(() => keepSupported(asked, [], false)).toThrow(expect.objectContaining({ code: "UNSUPPORTED_PARAMETER" }));
  }
});
