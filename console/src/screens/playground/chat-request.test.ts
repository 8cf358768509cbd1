import { chatRequest, NO_SETTINGS, readMore, userMessage } from "./chat-request.ts";

test("what is set is sent and nothing else; usage is always asked for, because it carries the cost", () => {
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

test("images go beside the text", () => {
  expect(userMessage("what is it?", ["data:image/png;base64,AA=="]).content).toEqual([
    { type: "text", text: "what is it?" },
    { type: "image_url", image_url: { url: "data:image/png;base64,AA==" } },
  ]);
});

test("JSON that is none, or no object, is named as such", () => {
  expect(readMore("")).toEqual({});
  expect(readMore("[1]").problem).toContain("must be an object");
  expect(readMore("{").problem).toBeTruthy();
});
