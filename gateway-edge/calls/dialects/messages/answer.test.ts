import fc from "fast-check";
import type { ChatAnswer, Fields, StreamPart } from "../../../upstream/providers/provider.ts";
import { type AnswerAndParts, anyAnswer, bill, readNamedEvents } from "../dialect-fixture.ts";
import { MessageFrames, messageAnswer } from "./answer.ts";

const identity = { id: "msg_1", model: "m" };
type Block = Record<string, unknown> & { json?: string };

function streamOf(parts: AnswerAndParts["parts"], showsThinking = true) {
  const frames = new MessageFrames(identity, { showsThinking });
  return readNamedEvents(parts.map((part) => frames.frames(part)).join("") + frames.last(bill));
}

/** What Anthropic's clients do with a stream, without mercy: a block starts at the next index, and only one is open. */
function assemble(events: readonly Fields[]): Fields {
  let message: Fields = {};
  const content: Block[] = [];
  let open = -1;
  for (const event of events) {
    const index = event["index"] as number;
    if (event["type"] === "message_start") message = event["message"] as Fields;
    if (event["type"] === "content_block_start") {
      expect([open, index]).toEqual([-1, content.length]);
      content.push({ ...(event["content_block"] as Fields) });
      open = index;
    }
    if (event["type"] === "content_block_delta") {
      expect(index).toBe(open);
      addDelta(content[index] as Block, event["delta"] as Fields);
    }
    if (event["type"] === "content_block_stop") open = -1;
    if (event["type"] === "message_delta") message = { ...message, ...(event["delta"] as Fields), usage: event["usage"] };
  }
  expect([open, events.at(-1)?.["type"], events[0]?.["type"]]).toEqual([-1, "message_stop", "message_start"]);
  return { ...message, content: content.map(({ json, ...block }) => (json === undefined ? block : { ...block, input: JSON.parse(json) })) };
}

function addDelta(block: Block, delta: Fields): void {
  const fields: Record<string, string> = { text_delta: "text", thinking_delta: "thinking", signature_delta: "signature" };
  const field = fields[String(delta["type"])];
  if (field) block[field] = String(block[field]) + String(delta[field]);
  else block.json = (block.json ?? "") + String(delta["partial_json"]);
}

test("the events of a stream put together are the whole answer", () => {
  fc.assert(
    fc.property(anyAnswer, fc.boolean(), ({ parts, answer }, showsThinking) => {
      const { container: _container, ...assembled } = assemble(streamOf(parts, showsThinking));
      const whole = messageAnswer(identity, answer, { bill, showsThinking });
      expect(assembled).toEqual({ ...whole, usage: { ...(whole["usage"] as Fields), cost_nano: 42 } });
    }),
  );
});

const wholeOf = (message: Fields, finishReason = "stop") => {
  const answer: ChatAnswer = { choices: [{ index: 0, message, finishReason, logprobs: null }], usage: undefined };
  return messageAnswer(identity, answer, { bill, showsThinking: false });
};

test("a message has all that its clients read, and counts as Anthropic counts", () => {
  expect(wholeOf({ content: "hi" })).toEqual({
    id: "msg_1",
    type: "message",
    role: "assistant",
    model: "m",
    content: [{ type: "text", text: "hi" }],
    stop_reason: "end_turn",
    stop_sequence: null,
    stop_details: null,
    usage: {
      input_tokens: 10,
      cache_creation_input_tokens: 2,
      cache_read_input_tokens: 4,
      output_tokens: 10,
      output_tokens_details: { thinking_tokens: 3 },
    },
  });
});

test.each([
  ["stop", {}, { stop_reason: "end_turn", stop_sequence: null }],
  ["stop", { stop_sequence: "END" }, { stop_reason: "stop_sequence", stop_sequence: "END" }],
  ["length", {}, { stop_reason: "max_tokens" }],
  ["tool_calls", {}, { stop_reason: "tool_use" }],
  ["content_filter", { refusal: "No." }, { stop_reason: "refusal", stop_details: { explanation: "No." } }],
  ["stop", { refusal: "No." }, { stop_reason: "refusal", stop_details: { explanation: "No." } }],
  ["something new", {}, { stop_reason: "end_turn" }],
])("an end by %s with %j becomes %j", (finishReason, fields, expected) => {
  expect(wholeOf({ content: "x", ...fields }, finishReason)).toMatchObject(expected);
});

test("thinking that was not requested is not shown, unless it is signed", () => {
  expect(wholeOf({ content: "42", reasoning_content: "hm" })["content"]).toEqual([{ type: "text", text: "42" }]);
  const sealed = [
    { type: "thinking", thinking: "hm", signature: "s" },
    { type: "redacted_thinking", data: "d" },
  ];
  expect(wholeOf({ content: "42", reasoning_content: "hm", thinking_blocks: sealed })["content"]).toEqual([
    ...sealed,
    { type: "text", text: "42" },
  ]);
});

test("calls that a server writes side by side each keep their own arguments", () => {
  const delta = (index: number, json: string, more = {}): Exclude<StreamPart, { type: "usage" }> => ({
    type: "other-delta",
    choice: 0,
    fields: { tool_calls: [{ index, ...more, function: { name: "f", arguments: json } }] },
    text: json,
  });
  const frames = new MessageFrames(identity, { showsThinking: false });
  const parts = [delta(0, '{"a":', { id: "x" }), delta(1, '{"b":', { id: "y" }), delta(0, "1}"), delta(1, "2}")];
  const events = readNamedEvents(parts.map((part) => frames.frames(part)).join("") + frames.last(bill));
  const json = [0, 1].map((index) =>
    events.filter((event) => event["index"] === index).map((event) => (event["delta"] as Fields | undefined)?.["partial_json"] ?? ""),
  );
  expect(json.map((pieces) => pieces.join(""))).toEqual(['{"a":1}', '{"b":2}']);
});
