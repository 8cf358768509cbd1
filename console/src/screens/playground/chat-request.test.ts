import { chatRequest, EMPTY_TOOL, isComplete, lastSent, NO_SETTINGS, readObject, userMessage } from "./chat-request.ts";

test("only parameters that are set are sent; usage is always requested, because it contains the cost", () => {
  expect(chatRequest("echo", [userMessage("hi", [])], NO_SETTINGS)).toEqual({
    model: "echo",
    messages: [{ role: "user", content: "hi" }],
    stream: true,
    stream_options: { include_usage: true },
  });
  const settings = { ...NO_SETTINGS, system: "Be brief.", temperature: 0, maxTokens: 9, more: '{"seed":7,"stream":false}' };
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
  expect(readObject("")).toEqual({});
  expect(readObject("[1]").problem).toContain("Enter a JSON object");
  expect(readObject("{").problem).toBeTruthy();
});

test("tools and the schema of the answer are sent in the API's format, and nothing is sent while one is not complete", () => {
  const tool = { name: "depth", description: "Depth of a river", parameters: '{"type":"object"}' };
  const settings = { ...NO_SETTINGS, tools: [tool], schema: '{"type":"object"}' };
  expect(chatRequest("echo", [], settings)).toMatchObject({
    tools: [{ type: "function", function: { name: "depth", description: "Depth of a river", parameters: { type: "object" } } }],
    response_format: { type: "json_schema", json_schema: { name: "answer", schema: { type: "object" } } },
  });
  expect(isComplete(settings)).toBe(true);
  for (const change of [{ tools: [EMPTY_TOOL] }, { tools: [{ ...tool, parameters: "{" }] }, { schema: "[]" }, { more: "{" }]) {
    expect(isComplete({ ...settings, ...change })).toBe(false);
  }
});
