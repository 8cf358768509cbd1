import type { ChatBody, ChatCall } from "./provider.ts";

const WEATHER_TOOL = {
  type: "function",
  function: {
    name: "get_weather",
    description: "The weather of a city.",
    parameters: {
      type: "object",
      properties: { city: { type: "string" }, unit: { type: "string", enum: ["c", "f"] } },
      required: ["city"],
    },
  },
};
const TIME_TOOL = { type: "function", function: { name: "get_time", parameters: { type: "object", properties: {} } } };
const PIXEL = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const ASK = [{ role: "user", content: "What is the weather in Oslo?" }];

const call = (body: ChatBody, options: { stream?: boolean; maxOutputTokens?: number } = {}): ChatCall => ({
  body: { model: "a-group", ...body },
  stream: options.stream ?? false,
  maxOutputTokens: options.maxOutputTokens ?? 256,
});
const toolCall = (id: string, name: string, args: object) => ({
  id,
  type: "function",
  function: { name, arguments: JSON.stringify(args) },
});
const withTools = (tool_choice: unknown) => call({ messages: ASK, tools: [WEATHER_TOOL, TIME_TOOL], tool_choice });

/** Calls that every chat adapter must be able to build; unsupported parameters are removed before, as in production. */
export const STANDARD_CALLS: Readonly<Record<string, ChatCall>> = {
  text: call({
    messages: [
      { role: "system", content: "Be brief." },
      { role: "user", content: "Say hello." },
    ],
  }),
  "text streamed": call({ messages: [{ role: "user", content: "Say hello." }], stream: true, stream_options: {} }, { stream: true }),
  "history of six roles": call({
    messages: [
      { role: "developer", content: "Prefer metric units." },
      { role: "system", content: "Be brief." },
      { role: "user", content: "What is the weather in Oslo?", name: "ann" },
      { role: "assistant", content: null, tool_calls: [toolCall("call_AbC-123_x", "get_weather", { city: "Oslo" })] },
      { role: "tool", tool_call_id: "call_AbC-123_x", content: '{"celsius":7}' },
      { role: "assistant", content: "7 degrees." },
      { role: "user", content: "And in Rome?" },
      { role: "assistant", content: null, function_call: { name: "get_weather", arguments: '{"city":"Rome"}' } },
      { role: "function", name: "get_weather", content: "18" },
      { role: "user", content: "Thanks." },
    ],
    tools: [WEATHER_TOOL],
  }),
  "parallel tool results": call({
    messages: [
      ...ASK,
      {
        role: "assistant",
        content: "Let me look.",
        tool_calls: [
          toolCall("tooluse_shared_prefix_1", "get_weather", { city: "Oslo" }),
          toolCall("tooluse_shared_prefix_2", "get_weather", { city: "Rome" }),
          toolCall("tooluse_shared_prefix_3", "get_time", {}),
        ],
      },
      { role: "tool", tool_call_id: "tooluse_shared_prefix_2", content: [{ type: "text", text: "18" }] },
      { role: "tool", tool_call_id: "tooluse_shared_prefix_1", content: "7" },
      { role: "tool", tool_call_id: "tooluse_shared_prefix_3", content: "" },
    ],
    tools: [WEATHER_TOOL, TIME_TOOL],
    parallel_tool_calls: false,
  }),
  "tool choice auto": withTools("auto"),
  "tool choice none": withTools("none"),
  "tool choice required": withTools("required"),
  "tool choice named": withTools({ type: "function", function: { name: "get_weather" } }),
  "no tools": call({ messages: ASK, tools: [] }),
  "json schema": call({
    messages: [{ role: "user", content: "Name a city." }],
    response_format: {
      type: "json_schema",
      json_schema: {
        name: "city",
        strict: true,
        schema: {
          type: "object",
          properties: { name: { type: "string" }, people: { type: "integer" } },
          required: ["name", "people"],
          additionalProperties: false,
        },
      },
    },
  }),
  "json object": call({ messages: [{ role: "user", content: "Name a city, in JSON." }], response_format: { type: "json_object" } }),
  image: call({
    messages: [
      {
        role: "user",
        content: [
          { type: "text", text: "What is it?" },
          { type: "image_url", image_url: { url: PIXEL, detail: "low" } },
        ],
      },
    ],
  }),
  sampling: call(
    { messages: ASK, stop: ["END", "STOP"], temperature: 0.5, top_p: 0.9, seed: 7, max_tokens: 64, user: "u-1" },
    { maxOutputTokens: 64 },
  ),
  "one stop": call({ messages: ASK, stop: "END", max_completion_tokens: 64 }, { maxOutputTokens: 32 }),
  effort: call({ messages: ASK, reasoning_effort: "high" }, { maxOutputTokens: 8192 }),
};
