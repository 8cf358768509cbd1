import { parseResponsesRequest } from "../../../schemas/calls/responses.ts";
import { plainMessages } from "../plain-messages.ts";
import { chatMessages } from "./items.ts";
import { inputItems, refuseUnsupported, toChatRequest } from "./request.ts";
import { sealedContent } from "./seal.ts";

function read(fields: object) {
  const request = parseResponsesRequest({ model: "m", input: "hi", ...fields });
  return toChatRequest(request, inputItems(request.input));
}

test("a request becomes a chat request; what is this API's own bookkeeping stays here", () => {
  const chat = read({
    instructions: "Be brief.",
    max_output_tokens: 64,
    temperature: 0.2,
    store: true,
    metadata: { a: "b" },
    truncation: "auto",
    include: ["message.output_text.logprobs"],
    top_logprobs: 2,
    user: "u",
    reasoning: { effort: "low", summary: "auto" },
    text: { verbosity: "low", format: { type: "json_schema", name: "n", schema: { type: "object" }, strict: true } },
  });
  expect(chat).toEqual({
    model: "m",
    messages: [
      { role: "system", content: "Be brief." },
      { role: "user", content: "hi" },
    ],
    max_tokens: 64,
    temperature: 0.2,
    logprobs: true,
    top_logprobs: 2,
    user: "u",
    reasoning_effort: "low",
    verbosity: "low",
    response_format: { type: "json_schema", json_schema: { name: "n", schema: { type: "object" }, strict: true } },
  });
});

test("flat functions become chat's nested ones, and every choice among them has its word", () => {
  const tools = [
    { type: "function", name: "f", description: "d", parameters: { type: "object" }, strict: true },
    { type: "function", name: "g", parameters: null },
  ];
  const nested = [
    { type: "function", function: { name: "f", description: "d", parameters: { type: "object" }, strict: true } },
    { type: "function", function: { name: "g" } },
  ];
  expect(read({ tools, parallel_tool_calls: false })).toMatchObject({ tools: nested, parallel_tool_calls: false });
  expect(read({ tools, tool_choice: "required" }).tool_choice).toBe("required");
  expect(read({ tools, tool_choice: { type: "function", name: "f" } }).tool_choice).toEqual({ type: "function", function: { name: "f" } });
  const allowed = { type: "allowed_tools", mode: "required", tools: [{ type: "function", name: "g" }] };
  expect(read({ tools, tool_choice: allowed })).toMatchObject({ tools: [nested[1]], tool_choice: "required" });
});

test.each([
  [{ tools: [{ type: "web_search" }] }, "tools[0].type"],
  [{ tools: [{ type: "function", name: "f" }], tool_choice: { type: "mcp" } }, "tool_choice"],
  [{ input: [{ type: "computer_call" }] }, "input[0].type"],
  [{ input: [{ role: "user", content: [{ type: "hologram" }] }] }, "input[0].content[0].type"],
  [{ input: [] }, "input"],
  [{ text: { format: { type: "yaml" } } }, "text.format.type"],
])("what cannot be done is refused by name: %j", (fields, param) => {
  expect(() => read(fields)).toThrow(expect.objectContaining({ code: "INVALID_REQUEST", param }));
});

test.each([
  [{ context_management: [{}] }, "context_management"],
  [{ background: true, store: false }, "store"],
  [{ conversation: "conv_1", previous_response_id: "resp_1" }, "previous_response_id"],
])("what is not there is not pretended: %j", (fields, param) => {
  const request = parseResponsesRequest({ model: "m", input: "hi", ...fields });
  expect(() => refuseUnsupported(request)).toThrow(expect.objectContaining({ param }));
});

const sealed = { type: "thinking", thinking: "hm", signature: "s" };
const CONVERSATION = [
  {
    role: "user",
    content: [
      { type: "input_text", text: "see" },
      { type: "input_image", image_url: "https://x/y.png", detail: "low" },
    ],
  },
  { type: "reasoning", id: "rs_1", summary: [], encrypted_content: sealedContent({ index: 0, ...sealed }) },
  { type: "message", role: "assistant", content: [{ type: "output_text", text: "Let me look." }] },
  { type: "function_call", call_id: "a", name: "f", arguments: "{}" },
  { type: "function_call", call_id: "b", name: "g", arguments: "" },
  {
    type: "function_call_output",
    call_id: "a",
    output: [
      { type: "input_text", text: "one" },
      { type: "input_image", image_url: "data:x" },
    ],
  },
  { type: "function_call_output", call_id: "b", output: "two" },
  { role: "developer", content: "Now." },
];
const picture = { type: "image_url", image_url: { url: "data:x" } };

test("what an assistant did in one go is one message, answered directly by the results of its calls", () => {
  const turn = {
    role: "assistant",
    content: "Let me look.",
    tool_calls: [
      { id: "a", type: "function", function: { name: "f", arguments: "{}" } },
      { id: "b", type: "function", function: { name: "g", arguments: "{}" } },
    ],
  };
  const user = {
    role: "user",
    content: [
      { type: "text", text: "see" },
      { type: "image_url", image_url: { url: "https://x/y.png", detail: "low" } },
    ],
  };
  expect(plainMessages(chatMessages(CONVERSATION))).toEqual([
    user,
    turn,
    { role: "tool", tool_call_id: "a", content: "one" },
    { role: "tool", tool_call_id: "b", content: "two" },
    { role: "user", content: [{ type: "text", text: "Content of the tool result a:" }, picture] },
    { role: "developer", content: "Now." },
  ]);
  expect(chatMessages(CONVERSATION)).toEqual([
    user,
    { ...turn, thinking_blocks: [sealed] },
    { role: "tool", tool_call_id: "a", content: [{ type: "text", text: "one" }, picture] },
    { role: "tool", tool_call_id: "b", content: "two" },
    { role: "developer", content: "Now." },
  ]);
});

test("sealed reasoning of others is no thinking of ours", () => {
  const foreign = [
    { type: "reasoning", encrypted_content: "gAAAA" },
    { type: "reasoning", encrypted_content: "tb1.%%%" },
    { role: "assistant", content: "x" },
  ];
  expect(chatMessages(foreign)).toEqual([{ role: "assistant", content: "x" }]);
});
