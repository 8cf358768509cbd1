import { setImmediate as turn } from "node:timers/promises";
import { AppError } from "../../../common/errors.ts";
import { silentLogger } from "../../../common/logger.ts";
import type { StoreContentsRequest } from "../../../proto/gen/tributary/contents/v1/contents.ts";
import { fakeClock } from "../../access/clock-fixture.ts";
import type { ChatRequest } from "../../schemas/calls/chat.ts";
import type { Job } from "../inference/job.ts";
import { chatJob } from "../inference/jobs/chat.ts";
import { boundedJson } from "./bounded-json.ts";
import { TEXT_BYTES_MAX } from "./call-content.ts";
import { answerOf, promptOf, StreamedText } from "./call-text.ts";
import { Contents } from "./contents.ts";
import { redactedJson } from "./redaction.ts";

const jobOf = (content: string) => chatJob({ model: "echo", messages: [{ role: "user", content }] } as ChatRequest) as Job<unknown>;
const callOf = (callId: string, content = "hello") => ({
  callId,
  caller: { organizationId: "org_1", keyId: "key_1" },
  job: jobOf(content),
});

describe("bounded JSON", () => {
  test("is the value itself within its limit", () => {
    const value = { messages: [{ role: "user", content: "a\nb" }], n: 1, big: 12n, none: null, left: undefined };
    expect(boundedJson(value, 1000)).toEqual({
      json: '{"messages":[{"role":"user","content":"a\\nb"}],"n":1,"big":"12","none":null}',
      isCut: false,
    });
  });

  test.each(["x", "é", "😀"])("has at most its bytes of %s, and says that it was cut", (letter) => {
    const { json, isCut } = boundedJson({ a: letter.repeat(5000), b: "left out" }, 1000);
    expect(isCut).toBe(true);
    expect(Buffer.byteLength(json)).toBeLessThan(1020);
    expect(Buffer.byteLength(json)).toBeGreaterThan(950);
    expect(json).not.toContain("left out");
  });

  test("ends at any depth", () => {
    let deep: unknown = "end";
    for (let depth = 0; depth < 10_000; depth++) deep = [deep];
    expect(boundedJson(deep, 1000)).toMatchObject({ isCut: true });
  });

  test("replaces images and files by their sizes", () => {
    const image = { type: "image_url", image_url: { url: `data:image/png;base64,${"A".repeat(5000)}` } };
    const file = { type: "base64", media_type: "image/png", data: "B".repeat(5000) };
    const { json, isCut } = boundedJson([image, file], 1000);
    expect(isCut).toBe(false);
    expect(json).toMatch(/\[image\/png, 5022 characters left out\].*\[base64, 5000 characters left out\]/);
  });

  test("never cuts personal data in two, because half of it would not be recognized", () => {
    for (let before = 0; before < 40; before++) {
      const text = `${"x".repeat(80 - before)} mail jane.roe@example.org ${"y".repeat(200)}`;
      expect(redactedJson(boundedJson(text, 100).json)).not.toMatch(/jane|roe@|example/);
    }
  });
});

test("redaction covers texts, names of fields and credentials, and leaves JSON that can be read", () => {
  const value = { "jane@example.org": ["line\njane@example.org", { card: "4111 1111 1111 1111" }], key: "sk-abcdefgh12345678", n: 3 };
  const redacted: unknown = JSON.parse(redactedJson(JSON.stringify(value)));
  expect(redacted).toEqual({ "[EMAIL]": ["line\n[EMAIL]", { card: "[CREDIT_CARD]" }], key: "[redacted]", n: 3 });
});

test("a prompt has the fields with text and the parameters of the answer, and no others", () => {
  const parameters = { model: "echo", temperature: 0, response_format: { type: "json_object" } };
  const messages = [{ role: "user", content: "hi" }];
  const request = { ...parameters, messages, user: "u", metadata: { a: "b" }, api_key: "secret", extra_headers: { a: "b" } };
  expect(promptOf(chatJob(request as unknown as ChatRequest) as Job<unknown>)).toEqual({ messages, parameters });
});

test("an answer has its choices, or what its provider wrote; vectors are none", () => {
  expect(answerOf({ choices: [{ index: 0, message: { content: "hi" }, finishReason: "stop", logprobs: [1] }] })).toEqual({
    choices: [{ index: 0, message: { role: "assistant", content: "hi" }, finish_reason: "stop" }],
  });
  expect(answerOf({ choices: [{ index: 0, text: "hi", finishReason: "stop" }] })).toEqual({
    choices: [{ index: 0, text: "hi", finish_reason: "stop" }],
  });
  expect(answerOf({ proxied: { id: "msg_1", content: [{ type: "text", text: "hi" }], usage: {} } })).toEqual({
    content: [{ type: "text", text: "hi" }],
  });
  expect(answerOf({ vectors: [[1, 2]] })).toBeUndefined();
});

test("a stream's choices are collected with their tool calls, up to the limit", () => {
  const text = new StreamedText(100);
  const call = (fields: object) => ({ type: "other-delta", choice: 1, fields: { tool_calls: [fields] }, text: "" }) as const;
  text.add({ type: "text-delta", choice: 0, text: "Hel" });
  text.add({ type: "text-delta", choice: 0, text: "lo" });
  text.add(call({ index: 0, function: { arguments: '{"a"' } }));
  text.add({ type: "finish", choice: 0, reason: "stop" });
  expect(text.isCut).toBe(false);
  text.add(call({ index: 0, function: { arguments: ":1}" } }));
  text.add({ type: "text-delta", choice: 0, text: "x".repeat(100) });
  expect(text.isCut).toBe(true);
  const { choices } = text.answer() as { choices: { message: { content: string; tool_calls: unknown } }[] };
  expect(choices[0]).toMatchObject({
    index: 0,
    message: { role: "assistant", content: expect.stringMatching(/^Hellox*$/) },
    finish_reason: "stop",
  });
  expect(choices[1]?.message.tool_calls).toEqual([{ index: 0, function: { arguments: '{"a"' } }]);
});

describe("the lane", () => {
  const start = (bytesMax?: number) => {
    const sent: StoreContentsRequest[] = [];
    const clock = fakeClock();
    const control = {
      fails: false,
      storeContents: async (request: StoreContentsRequest) => {
        if (control.fails) throw new AppError("UPSTREAM_UNAVAILABLE", "down");
        sent.push(request);
        return { stored: request.contents.length, refused: 0 };
      },
    };
    const contents = new Contents({ control: { contents: control }, clock, logger: silentLogger }, bytesMax);
    const wait = async (milliseconds: number) => {
      for (let step = 0; step < 20; step++) {
        await clock.advance(milliseconds / 20);
        await turn();
      }
    };
    return { contents, control, sent, wait, ids: () => sent.flatMap((request) => request.contents.map(({ callId }) => callId)) };
  };
  const settle = ({ contents }: { contents: Contents }, callId: string, prompt?: string) => {
    contents.begin(callOf(callId, prompt));
    return contents.settling({ callId, createdAt: new Date(5) });
  };

  test("sends settled calls in batches, redacted; refused ones are forgotten", async () => {
    const lane = start();
    lane.contents.begin(callOf("refused"));
    lane.contents.forget("refused");
    expect(lane.contents.settling({ callId: "refused", createdAt: new Date(5) })).toBeUndefined();
    for (const id of ["a", "b"]) settle(lane, id, "to jane@example.org");
    await lane.wait(200);
    expect(lane.sent).toEqual([
      { contents: [expect.objectContaining({ callId: "a", organizationId: "org_1", keyId: "key_1" }), expect.anything()] },
    ]);
    const prompt = '{"messages":[{"role":"user","content":"to [EMAIL]"}],"parameters":{"model":"echo"}}';
    expect(lane.sent[0]?.contents[0]?.content).toEqual({ prompt, promptTruncated: false, answer: undefined, answerTruncated: false });
    expect(lane.contents.figures()).toEqual({ stored: 2, refused: 0, dropped: 0 });
  });

  test("cuts long prompts and answers, and says so", async () => {
    const lane = start();
    const open = lane.contents.begin(callOf("long", "x".repeat(200_000)));
    for (let part = 0; part < 100; part++) open?.delivered({ type: "text-delta", choice: 0, text: "y".repeat(2000) });
    lane.contents.settling({ callId: "long", createdAt: new Date(5) });
    await lane.wait(200);
    const content = lane.sent[0]?.contents[0]?.content;
    expect(content).toMatchObject({ promptTruncated: true, answerTruncated: true });
    for (const text of [content?.prompt, content?.answer]) expect(text?.length).toBeLessThanOrEqual(TEXT_BYTES_MAX + 200);
  });

  test("drops and counts what has no room, and has room again when it was sent", async () => {
    const lane = start(250);
    settle(lane, "first");
    settle(lane, "second", "z".repeat(150));
    settle(lane, "third");
    expect(lane.contents.figures().dropped).toBe(1);
    await lane.wait(200);
    settle(lane, "fourth");
    await lane.wait(200);
    expect(lane.ids()).toEqual(["first", "third", "fourth"]);
  });

  test("tries again while the control plane is away, then drops", async () => {
    const lane = start();
    lane.control.fails = true;
    settle(lane, "early");
    await lane.wait(2000);
    lane.control.fails = false;
    await lane.wait(4000);
    expect(lane.ids()).toEqual(["early"]);
    lane.control.fails = true;
    settle(lane, "lost");
    for (let second = 0; second < 15; second++) await lane.wait(1000);
    lane.control.fails = false;
    await lane.wait(5000);
    expect(lane.ids()).toEqual(["early"]);
    expect(lane.contents.figures()).toEqual({ stored: 1, refused: 0, dropped: 1 });
  });

  test("sends what is queued before it stops", async () => {
    const lane = start();
    settle(lane, "last");
    const stopping = lane.contents.stop();
    await lane.wait(200);
    await stopping;
    expect(lane.ids()).toEqual(["last"]);
  });
});
