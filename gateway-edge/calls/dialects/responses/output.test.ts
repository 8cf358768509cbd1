import { ResponseOutput } from "./output.ts";

test.each([
  ["mcp_call", "completed", ["response.mcp_call.in_progress", "response.mcp_call.completed"]],
  ["mcp_call", "failed", ["response.mcp_call.in_progress", "response.mcp_call.failed"]],
  ["file_search_call", "failed", ["response.file_search_call.in_progress", "response.file_search_call.searching"]],
])("the events of an item tell how its tool ended: %s, %s", (type, status, steps) => {
  const events = new ResponseOutput("1").take({ type: "item", item: { type, status } });
  expect(events.map((event) => event.type)).toEqual(["response.output_item.added", ...steps, "response.output_item.done"]);
});
