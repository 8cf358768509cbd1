import fc from "fast-check";
import { AppError } from "../../../../common/errors.ts";
import { parseResponsesRequest } from "../../../schemas/calls/responses.ts";
import type { Fields } from "../../../upstream/providers/provider.ts";
import { type AnswerAndParts, anyAnswer, bill, readNamedEvents } from "../dialect-fixture.ts";
import { RESPONSE_CHARACTERS_MAX, ResponseFrames } from "./frames.ts";
import { shownResponse, wholeResponse } from "./response.ts";

const SEALED = "reasoning.encrypted_content";
const request = parseResponsesRequest({ model: "m", input: "hi" });
const identity = { suffix: "abc", createdSeconds: 1, model: "m", request };
const nowMs = 2000;
type Item = Record<string, unknown> & { type: string };

function framesFor(include: readonly string[] = [SEALED], stored: Fields[] = []) {
  return new ResponseFrames(identity, {
    include,
    now: () => nowMs,
    keep: async (response) => {
      stored.push(response);
      return response;
    },
  });
}

async function streamOf(parts: AnswerAndParts["parts"], include?: readonly string[]) {
  const frames = framesFor(include);
  const text = parts.map((part) => frames.frames(part)).join("");
  return readNamedEvents(text + (await frames.last(bill)));
}

interface Growing {
  content: { text: string }[];
  summary: { text: string }[];
  arguments: string;
}

/** What clients make of a stream, without mercy: nothing is added to what was not announced, and each `done` says what the deltas said. */
function assemble(events: readonly Fields[]): Item[] {
  const items: Item[] = [];
  for (const event of events) {
    const { type, output_index: index, item } = event as { type: string; output_index: number; item: Item };
    if (type === "response.output_item.added") {
      expect(index).toBe(items.length);
      items.push(structuredClone(item));
    } else if (type === "response.output_item.done") {
      const { status: _before, ...made } = items[index] as Item;
      const { status: _after, encrypted_content: _sealed, ...done } = item;
      expect(made).toEqual(done);
      items[index] = item;
    } else if (index !== undefined) grow(items[index] as unknown as Growing, event);
  }
  return items;
}

function grow(item: Growing, event: Fields): void {
  const {
    type,
    content_index: content,
    summary_index: summary,
    delta,
    part,
  } = event as Record<string, string> & {
    content_index: number;
    summary_index: number;
    part: { text: string };
  };
  if (type === "response.content_part.added") item.content.push(structuredClone(part));
  if (type === "response.reasoning_summary_part.added") item.summary.push(structuredClone(part));
  if (type === "response.function_call_arguments.delta") item.arguments += delta;
  const list = type === "response.output_text.delta" ? item.content : type === "response.reasoning_summary_text.delta" ? item.summary : [];
  const grown = list[content ?? summary];
  if (grown) grown.text += delta;
}

test("the events of a stream put together are the whole answer, numbered from 0 without a gap", async () => {
  await fc.assert(
    fc.asyncProperty(anyAnswer, async ({ parts, answer }) => {
      const events = await streamOf(parts);
      expect(events.map((event) => event["sequence_number"])).toEqual(events.map((_, index) => index));
      expect(events.slice(0, 2).map(({ type }) => type)).toEqual(["response.created", "response.in_progress"]);
      const whole = wholeResponse(identity, answer, { bill, nowMs });
      const last = events.at(-1);
      expect(last?.type).toBe(`response.${String(whole["status"])}`);
      expect(last?.["response"]).toEqual({ ...whole, usage: { ...(whole["usage"] as Fields), cost_nano: 42 } });
      expect(assemble(events)).toEqual(whole["output"]);
    }),
  );
});

test("a text comes in the order that clients rely on", async () => {
  const events = await streamOf([
    { type: "text-delta", choice: 0, text: "a" },
    { type: "text-delta", choice: 0, text: "b" },
    { type: "finish", choice: 0, reason: "stop" },
  ]);
  expect(events.map(({ type }) => type.replace("response.", ""))).toEqual([
    "created",
    "in_progress",
    "output_item.added",
    "content_part.added",
    "output_text.delta",
    "output_text.delta",
    "output_text.done",
    "content_part.done",
    "output_item.done",
    "completed",
  ]);
  expect(events[6]).toMatchObject({ text: "ab", item_id: "msg_abc_0", output_index: 0, content_index: 0 });
});

test("a response has every key of the wire, and counts its tokens", async () => {
  const answer = { choices: [{ index: 0, message: { content: "x" }, finishReason: "length", logprobs: null }], usage: undefined };
  const whole = wholeResponse(identity, answer, { bill, nowMs });
  expect(whole).toMatchObject({
    id: "resp_abc",
    object: "response",
    status: "incomplete",
    incomplete_details: { reason: "max_output_tokens" },
    output: [{ type: "message", status: "incomplete", content: [{ type: "output_text", text: "x", annotations: [] }] }],
    usage: {
      input_tokens: 16,
      input_tokens_details: { cached_tokens: 4 },
      output_tokens: 10,
      output_tokens_details: { reasoning_tokens: 3 },
      total_tokens: 26,
    },
  });
  const keys =
    "id object created_at status error incomplete_details instructions max_output_tokens model output parallel_tool_calls previous_response_id reasoning store temperature text tool_choice tools top_p truncation usage user metadata";
  expect(keys.split(" ").filter((key) => whole[key] === undefined)).toEqual([]);
});

test("a failure in the middle ends with response.failed, also when nothing was sent before", async () => {
  const stored: Fields[] = [];
  const frames = framesFor([], stored);
  const error = new AppError("UPSTREAM_UNAVAILABLE", "The provider's answer ended before it was complete.");
  const before = frames.frames({ type: "text-delta", choice: 0, text: "one" });
  const events = readNamedEvents(before + (await frames.failed(error)));
  const failed = { status: "failed", error: { code: "server_error", message: error.message } };
  expect(events.at(-1)).toMatchObject({ type: "response.failed", response: failed });
  expect(stored).toMatchObject([{ ...failed, output: [{ status: "incomplete", content: [{ text: "one" }] }] }]);
  const alone = readNamedEvents(await framesFor().failed(error));
  expect(alone.map(({ type }) => type)).toEqual(["response.created", "response.in_progress", "response.failed"]);
});

test("sealed reasoning is stored, and shown only to who asked for it", async () => {
  const block = { type: "thinking", thinking: "hm", signature: "s" };
  const parts: AnswerAndParts["parts"] = [
    { type: "other-delta", choice: 0, fields: { thinking_blocks: [block] }, text: "" },
    { type: "finish", choice: 0, reason: "stop" },
  ];
  expect(JSON.stringify(await streamOf(parts, []))).not.toContain("encrypted_content");
  expect(JSON.stringify(await streamOf(parts, [SEALED]))).toContain("encrypted_content");
  const response = { output: [{ type: "reasoning", encrypted_content: "x" }] };
  expect([shownResponse(response, []), shownResponse(response, [SEALED])]).toEqual([{ output: [{ type: "reasoning" }] }, response]);
});

test("a response that is too long to be held whole fails", () => {
  const frames = framesFor();
  const text = "x".repeat(RESPONSE_CHARACTERS_MAX / 4);
  for (let part = 0; part < 4; part++) frames.frames({ type: "text-delta", choice: 0, text });
  expect(() => frames.frames({ type: "text-delta", choice: 0, text: "x" })).toThrow(/longer than/);
});
