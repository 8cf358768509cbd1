import type { RunBody } from "./bodies.ts";
import type { FileSearch } from "./file-search.ts";
import { fitMessages } from "./fit-messages.ts";
import { assistantOf, messageOf, newRunBody, runOf } from "./objects.ts";
import { chatFields, chatMessage, frameOf } from "./prompt.ts";

const stamp = { id: "x_1", nowMs: 0 };
const body = (given: object = {}, assistant: object = {}): RunBody =>
  newRunBody(runOf(stamp, { assistant_id: "asst_1", ...given }, assistantOf(stamp, { model: "m", ...assistant }), "thread_1"));
const fileSearch = { toolName: "file_search", tool: { type: "function", function: { name: "file_search" } } } as unknown as FileSearch;
const WEATHER = { type: "function" as const, function: { name: "get_weather", description: null } };

test("a run asks only for what it was given, and its own settings win over its assistant's", () => {
  expect(chatFields(body(), undefined)).toEqual({ model: "m", stream: true });
  const given = {
    model: "n",
    temperature: 0,
    max_completion_tokens: 300,
    tools: [WEATHER, { type: "file_search" }],
    parallel_tool_calls: false,
    tool_choice: { type: "file_search" },
    response_format: { type: "json_object" },
    reasoning_effort: "low",
  };
  const asked = body(given, { temperature: 1, top_p: 0.5 });
  expect(chatFields(asked, fileSearch)).toEqual({
    model: "n",
    stream: true,
    temperature: 0,
    top_p: 0.5,
    max_completion_tokens: 300,
    tools: [{ type: "function", function: { name: "get_weather" } }, fileSearch.tool],
    parallel_tool_calls: false,
    tool_choice: { type: "function", function: { name: "file_search" } },
    response_format: { type: "json_object" },
    reasoning_effort: "low",
  });
  const later = chatFields({ ...asked, modelCalls: 1, used: { prompt: 5, completion: 200 } }, fileSearch);
  // Forced again it would never answer; and what it said already counts.
  expect([later["tool_choice"], later["max_completion_tokens"]]).toEqual([undefined, 100]);
  expect(chatFields({ ...body({ tool_choice: "none", tools: [WEATHER] }), modelCalls: 1 }, undefined)["tool_choice"]).toBe("none");
});

test("instructions come first, additional ones after them, and none make no message", () => {
  expect(frameOf(body()).before).toEqual([]);
  const { before } = frameOf(body({ additional_instructions: "Be short." }, { instructions: "Be kind." }));
  expect(before).toEqual([{ role: "system", content: "Be kind.\n\nBe short." }]);
  expect(frameOf(body({ instructions: "Be brief." }, { instructions: "Be kind." })).before[0]?.content).toBe("Be brief.");
});

test("text stays text; an image of a file is sent as its bytes, and one that cannot be shown is named", async () => {
  const plain = messageOf(stamp, { role: "user", content: "hi", threadId: "t" });
  expect(await chatMessage(plain, async () => undefined)).toEqual({ role: "user", content: "hi" });
  const seen = messageOf(stamp, {
    role: "user",
    threadId: "t",
    content: [
      { type: "text", text: "What is it?" },
      { type: "image_file", image_file: { file_id: "file-1" } },
      { type: "image_file", image_file: { file_id: "file-2", detail: "low" } },
    ],
  });
  const read = async (id: string) => (id === "file-2" ? "data:image/png;base64,AA==" : undefined);
  expect((await chatMessage(seen, read)).content).toEqual([
    { type: "text", text: "What is it?" },
    { type: "text", text: "(The image file-1 cannot be shown.)" },
    { type: "image_url", image_url: { url: "data:image/png;base64,AA==", detail: "low" } },
  ]);
});

test("of a thread the newest messages that fit are fitting, in order; the newest alone may be too much", async () => {
  const messages = [1, 2, 3].map((size) => ({ role: "user", content: "x".repeat(size) }));
  const count = async (counted: readonly { content?: unknown }[]) => counted.reduce((sum, { content }) => sum + String(content).length, 0);
  const fitted = (budget: number) => fitMessages({ before: [{ role: "system", content: "s" }], after: [], messages, budget, count });
  expect(await fitted(7)).toEqual({ fitting: messages, fits: true });
  expect(await fitted(6)).toEqual({ fitting: messages.slice(1), fits: true });
  expect(await fitted(5)).toEqual({ fitting: messages.slice(2), fits: true });
  expect(await fitted(3)).toEqual({ fitting: messages.slice(2), fits: false });
  expect(await fitted(Number.POSITIVE_INFINITY)).toEqual({ fitting: messages, fits: true });
  expect((await fitMessages({ before: [], after: messages, messages: [], budget: 5, count })).fits).toBe(false);
});
