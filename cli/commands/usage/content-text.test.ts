import { contentText } from "./content-text.ts";

test("a chat is shown by roles, with what was cut and what is not text", () => {
  const prompt = {
    system: "be brief",
    messages: [
      { role: "user", content: "hi" },
      { role: "user", content: [{ type: "text", text: "x" }] },
    ],
  };
  const answer = {
    choices: [{ index: 0, message: { role: "assistant", content: "hello", tool_calls: [{ id: "a" }] }, finish_reason: "stop" }],
  };
  expect(contentText({ prompt, promptTruncated: true, answer, answerTruncated: false })).toBe(
    [
      "system:\nbe brief",
      "user:\nhi",
      'user:\n[{"type":"text","text":"x"}]',
      "[cut at 64 KB]",
      'assistant:\nhello\n{"tool_calls":[{"id":"a"}]}',
    ].join("\n\n"),
  );
});

test("a call without an answer says so", () => {
  expect(contentText({ prompt: { input: ["a", "b"] }, answer: null })).toBe('input:\n["a","b"]\n\n[no answer, or one that is not text]');
});
