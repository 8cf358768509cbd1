import { parseMessagesRequest } from "../../../schemas/calls/messages.ts";
import { toPlainChat } from "./plain.ts";
import { asksForThinking, callerBetas, toChatRequest, translatedBetas } from "./request.ts";

const base = { model: "m", max_tokens: 100 };
function read(fields: object, takesBlocks = false) {
  const chat = toChatRequest(parseMessagesRequest({ ...base, ...fields }));
  return takesBlocks ? chat : toPlainChat(chat);
}
const messagesOf = (messages: unknown[], takesBlocks = false) => read({ messages }, takesBlocks).messages;
const user = (content: unknown) => ({ role: "user", content });
const hi = [user("hi")];
const PNG = { type: "image", source: { type: "base64", media_type: "image/png", data: "AAAA" } };

test("a plain request becomes a plain chat request, with no field that chat does not know", () => {
  const fields = { system: "Be brief.", messages: hi, stop_sequences: ["END"], temperature: 0.5, top_p: 0.9, stream: true };
  expect(read({ ...fields, metadata: { user_id: "u1" }, context_management: {}, unknown_field: 1 })).toEqual({
    model: "m",
    max_tokens: 100,
    messages: [
      { role: "system", content: "Be brief." },
      { role: "user", content: "hi" },
    ],
    stop: ["END"],
    temperature: 0.5,
    top_p: 0.9,
    stream: true,
    user: "u1",
  });
});

test("cache marks, thinking, Anthropic's own tools and fields are forwarded to providers that take them", () => {
  const mark = { type: "ephemeral" };
  const sealed = { type: "thinking", thinking: "hm", signature: "s" };
  const webSearch = { type: "web_search_20250305", name: "web_search" };
  const chat = read(
    {
      system: [{ type: "text", text: "Long.", cache_control: mark }],
      messages: [
        user("hi"),
        { role: "assistant", content: [sealed, { type: "text", text: "ok" }, { type: "tool_use", id: "t1", name: "f", input: { a: 1 } }] },
        user([{ type: "tool_result", tool_use_id: "t1", content: "bad", is_error: true, cache_control: mark }]),
      ],
      tools: [{ name: "f", input_schema: { type: "object" }, cache_control: mark }, webSearch],
      thinking: { type: "enabled", budget_tokens: 2048 },
      output_config: { effort: "low", format: { type: "json_schema", schema: { type: "object" } } },
      context_management: { edits: [] },
    },
    true,
  );
  expect(chat.messages).toEqual([
    { role: "system", content: [{ type: "text", text: "Long.", cache_control: mark }] },
    { role: "user", content: "hi" },
    {
      role: "assistant",
      content: "ok",
      tool_calls: [{ id: "t1", type: "function", function: { name: "f", arguments: '{"a":1}' } }],
      thinking_blocks: [sealed],
    },
    { role: "tool", tool_call_id: "t1", content: "bad", is_error: true, cache_control: mark },
  ]);
  expect(chat).toMatchObject({
    tools: [{ type: "function", function: { name: "f", parameters: { type: "object" } }, cache_control: mark }, webSearch],
    thinking: { type: "enabled", budget_tokens: 2048 },
    output_config: { effort: "low" },
    response_format: { type: "json_schema", json_schema: { schema: { type: "object" } } },
    context_management: { edits: [] },
  });
  expect(chat["reasoning_effort"]).toBeUndefined();
});

test("for other models thinking is left out of the history, and its budget becomes an effort", () => {
  const history = [user("hi"), { role: "assistant", content: [{ type: "thinking", thinking: "hm", signature: "s" }] }, user("and?")];
  expect(messagesOf(history)).toEqual([
    { role: "user", content: "hi" },
    { role: "user", content: "and?" },
  ]);
  const efforts = [512, 1024, 4096, 10_000].map(
    (budget_tokens) => read({ messages: hi, thinking: { type: "enabled", budget_tokens } })["reasoning_effort"],
  );
  expect(efforts).toEqual(["low", "low", "medium", "high"]);
  expect(read({ messages: hi, thinking: { type: "adaptive" }, output_config: { effort: "max" } })["reasoning_effort"]).toBe("max");
  expect(read({ messages: hi, thinking: { type: "disabled" } })["reasoning_effort"]).toBeUndefined();
});

test("results of tools come before the rest of their turn; pictures in them come after, where a tool's message holds only text", () => {
  const turn = user([
    { type: "text", text: "see" },
    { type: "tool_result", tool_use_id: "a", content: [{ type: "text", text: "one" }, PNG] },
    { type: "tool_result", tool_use_id: "b" },
  ]);
  const image = { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } };
  expect(messagesOf([turn])).toEqual([
    { role: "tool", tool_call_id: "a", content: "one" },
    { role: "tool", tool_call_id: "b", content: "" },
    { role: "user", content: [{ type: "text", text: "Content of the tool result a:" }, image, { type: "text", text: "see" }] },
  ]);
  expect(messagesOf([turn], true)[0]).toEqual({ role: "tool", tool_call_id: "a", content: [{ type: "text", text: "one" }, image] });
});

test("documents come as files, and as text where they are text", () => {
  const pdf = { type: "document", title: "a.pdf", source: { type: "base64", media_type: "application/pdf", data: "JVBE" } };
  const note = { type: "document", title: "Note", source: { type: "text", media_type: "text/plain", data: "body" } };
  const file = { type: "file", file: { filename: "a.pdf", file_data: "data:application/pdf;base64,JVBE" } };
  expect(messagesOf([user([pdf, note])])).toEqual([{ role: "user", content: [file, { type: "text", text: "Note\n\nbody" }] }]);
});

test.each([
  [{ type: "auto" }, "auto"],
  [{ type: "any" }, "required"],
  [{ type: "none" }, "none"],
  [
    { type: "tool", name: "f" },
    { type: "function", function: { name: "f" } },
  ],
])("tool_choice %j is chat's %j", (tool_choice, expected) => {
  const tools = [{ name: "f", input_schema: { type: "object" } }];
  expect(read({ messages: hi, tools, tool_choice })).toMatchObject({ tool_choice: expected });
  const single = read({ messages: hi, tools, tool_choice: { ...tool_choice, disable_parallel_tool_use: true } });
  expect(single.parallel_tool_calls).toBe(false);
});

test.each([
  [{ messages: [user([{ type: "hologram" }])] }, "messages[0].content[0].type"],
  [{ messages: [user([{ type: "image", source: { type: "file", file_id: "f" } }])] }, "messages[0].content[0].source.file_id"],
  [{ messages: hi, tools: [{ type: "bash_20250124", name: "bash" }] }, "tools[0].type"],
  [{ messages: hi, mcp_servers: [{}] }, "mcp_servers"],
  [{ messages: hi, tools: [{ name: "f" }], tool_choice: { type: "some" } }, "tool_choice.type"],
])("what cannot be sent to the model is refused by name: %j", (fields, param) => {
  expect(() => read(fields)).toThrow(expect.objectContaining({ param }));
});

test("a translated request has the caller's betas that change no price, and no others", () => {
  const betas = callerBetas("interleaved-thinking-2025-05-14, context-1m-2025-08-07,\u0007effort-x");
  expect(betas).toEqual(["interleaved-thinking-2025-05-14", "context-1m-2025-08-07"]);
  expect(translatedBetas(betas)).toEqual(["interleaved-thinking-2025-05-14"]);
  expect(callerBetas(undefined)).toEqual([]);
});

test("thinking is shown only on request", () => {
  const asks = (thinking: object) => asksForThinking(parseMessagesRequest({ ...base, messages: hi, thinking }));
  expect([{ type: "enabled", budget_tokens: 1024 }, { type: "adaptive" }].map(asks)).toEqual([true, true]);
  expect([{ type: "disabled" }, { type: "adaptive", display: "omitted" }].map(asks)).toEqual([false, false]);
});
