import { contentParts } from "./content-parts.ts";

test("a prompt is its system text, then its messages; tool calls are JSON", () => {
  const prompt = {
    messages: [
      { role: "user", content: "hi" },
      { role: "assistant", content: null, tool_calls: [{ id: "c1" }] },
    ],
    system: "be brief",
  };
  expect(contentParts(prompt).map(({ title, text }) => [title, text])).toEqual([
    ["system", "be brief"],
    ["user", "hi"],
    ["assistant", '{\n  "tool_calls": [\n    {\n      "id": "c1"\n    }\n  ]\n}'],
  ]);
});

test("an answer is its choices, of a chat or a completion", () => {
  const message = { role: "assistant", content: "hello" };
  const choices = [{ index: 0, message, finish_reason: "stop" }];
  expect(contentParts({ choices })).toEqual([{ key: "0 assistant", title: "assistant", text: "hello" }]);
  expect(contentParts({ choices: [{ text: "hello" }] })).toEqual([{ key: "0 text", title: "text", text: "hello" }]);
});
