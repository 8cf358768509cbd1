import { chatRequest } from "./chat-request.ts";
import { replayOf, replayProblem } from "./replay.ts";

const weather = { type: "function", function: { name: "weather", description: "By city", parameters: { type: "object", properties: {} } } };
const STREAMED = { stream: true, stream_options: { include_usage: true } };

/** The request that the playground sends for a stored prompt. */
const sentAgain = (prompt: Record<string, unknown>) => {
  const { model, messages, settings } = replayOf(prompt);
  return chatRequest(model, messages, settings);
};

test.each([
  ["a question alone", { messages: [{ role: "user", content: "hi" }], parameters: { model: "echo" } }],
  [
    "a system prompt, forms of tools and a schema",
    {
      messages: [
        { role: "system", content: "Be brief." },
        { role: "user", content: "hi" },
      ],
      tools: [weather],
      parameters: {
        model: "echo",
        temperature: 0,
        max_tokens: 5,
        response_format: { type: "json_schema", json_schema: { name: "answer", schema: { type: "object" } } },
      },
    },
  ],
  [
    "what no form can show: calls of tools, a strict tool, another format, other parameters",
    {
      messages: [
        { role: "developer", content: [{ type: "text", text: "Be brief." }] },
        { role: "user", content: "weather?", name: "ada" },
        { role: "assistant", content: null, tool_calls: [{ id: "1", type: "function", function: { name: "weather", arguments: "{}" } }] },
        { role: "tool", tool_call_id: "1", content: "sunny" },
      ],
      tools: [{ ...weather, function: { ...weather.function, strict: true } }],
      parameters: {
        model: "gpt-4o",
        response_format: { type: "json_object" },
        max_completion_tokens: 9,
        seed: 7,
        tool_choice: { type: "function", function: { name: "weather" } },
        stop: ["\n"],
      },
    },
  ],
])("the playground sends %s again exactly", (_name, { parameters, ...prompt }) => {
  expect(sentAgain({ ...prompt, parameters })).toEqual({ ...prompt, ...parameters, ...STREAMED });
});

test("a prompt that was cut, has left out images or no parameters cannot be sent again, with the reason", () => {
  const prompt = { messages: [{ role: "user", content: "hi" }], parameters: { model: "echo" } };
  expect(replayProblem({ prompt, promptTruncated: false })).toBeUndefined();
  expect(replayProblem({ prompt, promptTruncated: true })).toMatch(/longer/);
  expect(replayProblem({ prompt: { messages: prompt.messages }, promptTruncated: false })).toMatch(/parameters/);
  const image = { type: "image_url", image_url: { url: "[image/png, 4096 characters left out]" } };
  const seen = { ...prompt, messages: [{ role: "user", content: [image] }] };
  expect(replayProblem({ prompt: seen, promptTruncated: false })).toMatch(/Images/);
});
