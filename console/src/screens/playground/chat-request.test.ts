import { chatRequest, lastSent, NO_SETTINGS, readMore, userMessage } from "./chat-request.ts";

test("only parameters that are set are sent; usage is always requested, because it contains the cost", () => {
  expect(chatRequest("echo", [userMessage("hi", [])], NO_SETTINGS)).toEqual({
    model: "echo",
    messages: [{ role: "user", content: "hi" }],
    stream: true,
    stream_options: { include_usage: true },
  });
  const settings = { system: "Be brief.", temperature: 0, maxTokens: 9, more: '{"seed":7,"stream":false}' };
  expect(chatRequest("echo", [], settings)).toMatchObject({
    messages: [{ role: "system", content: "Be brief." }],
    temperature: 0,
    max_tokens: 9,
    seed: 7,
    stream: true,
  });
});

test("the code shows what the last call sent: the conversation without the pending answer", () => {
  const conversation = [
    userMessage("one", []),
    { role: "assistant", content: "uno" },
    userMessage("two", []),
    { role: "assistant", content: "dos" },
  ] as const;
  expect(lastSent(conversation)).toEqual(conversation.slice(0, 3));
  expect(lastSent(conversation.slice(0, 3))).toEqual(conversation.slice(0, 3));
  expect(lastSent([])).toEqual([userMessage("hello river", [])]);
});

test("images go beside the text", () => {
  expect(userMessage("what is it?", ["data:image/png;base64,AA=="]).content).toEqual([
    { type: "text", text: "what is it?" },
    { type: "image_url", image_url: { url: "data:image/png;base64,AA==" } },
  ]);
});

test("invalid JSON and JSON that is not an object are reported", () => {
  expect(readMore("")).toEqual({});
  expect(readMore("[1]").problem).toContain("Enter a JSON object");
  expect(readMore("{").problem).toBeTruthy();
});
