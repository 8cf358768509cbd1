import fc from "fast-check";
import type { ChatBody, StreamPart } from "../provider.ts";
import { readSse } from "../shared/sse-reader.ts";
import { echo } from "./provider.ts";
import { splitTokens } from "./tokens.ts";
import { echoUpstream } from "./upstream.ts";

const anyText = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.string({ unit: "grapheme" }),
  fc.lorem({ maxCount: 30 }),
  fc.string({ unit: fc.constantFrom("a", " ", "\n", "😀", ".", "é") }),
);
const target = { inferenceModelId: "echo-1" };
const CALL = { body: { messages: [] }, stream: false, maxOutputTokens: 4096 };
const chat = echo.chat as NonNullable<typeof echo.chat>;

async function call(body: ChatBody, { stream = false, maxOutputTokens = 4096, signal = new AbortController().signal } = {}) {
  return echoUpstream(chat.buildRequest({ body, stream, maxOutputTokens }, { ...target, params: {} }), signal);
}

async function whole(body: ChatBody, maxOutputTokens = 4096) {
  const chunks: Uint8Array[] = [];
  for await (const chunk of (await call(body, { maxOutputTokens })).body) chunks.push(chunk);
  return chat.readAnswer(JSON.parse(Buffer.concat(chunks).toString()), CALL);
}

const say = (content: unknown, fields: object = {}): ChatBody => ({ model: "echo", messages: [{ role: "user", content }], ...fields });

test("tokens joined are the text, each at most 16 characters and none half a character", () => {
  fc.assert(
    fc.property(anyText, (text) => {
      const tokens = splitTokens(text);
      expect(tokens.join("")).toBe(text);
      expect(tokens.every((token) => token.length > 0 && token.length <= 16)).toBe(true);
      if (text.isWellFormed()) expect(tokens.every((token) => token.isWellFormed())).toBe(true);
    }),
    { numRuns: 500 },
  );
});

test("any number of first tokens, joined, is split the same way again: what was delivered can be counted", () => {
  fc.assert(
    fc.property(anyText, fc.nat({ max: 50 }), (text, count) => {
      const first = splitTokens(text).slice(0, count);
      expect(splitTokens(first.join(""))).toEqual(first);
    }),
    { numRuns: 500 },
  );
});

test("the last user message comes back with true usage", async () => {
  const body: ChatBody = {
    model: "echo",
    messages: [
      { role: "system", content: "Be kind." },
      { role: "user", content: "first" },
      { role: "assistant", content: null },
      {
        role: "user",
        content: [
          { type: "text", text: "Hello" },
          { type: "image_url", image_url: { url: "x" } },
          { type: "text", text: ", wörld!" },
        ],
      },
    ],
  };
  const answer = await whole(body);
  expect(answer.choices[0]).toMatchObject({ index: 0, finishReason: "stop", message: { content: "Hello, wörld!" } });
  // "Be" " kind" "." | "first" | one for the empty message | "Hello" "," " wörld" "!"
  expect(answer.usage).toMatchObject({ promptTokens: 9, completionTokens: 4 });
  expect(echo.counter?.countMessages(body.messages)).toBe(9);
});

test("limits, stops and choices are honored", async () => {
  const text = "one two three four";
  expect((await whole(say(text), 2)).choices[0]).toMatchObject({ finishReason: "length", message: { content: "one two" } });
  expect((await whole(say(text), 4)).choices[0]).toMatchObject({ finishReason: "stop" });
  expect((await whole(say(text, { stop: " three" }))).choices[0]).toMatchObject({ finishReason: "stop", message: { content: "one two" } });
  expect((await whole(say(text, { stop: ["four", "two"] }))).choices[0]).toMatchObject({ message: { content: "one " } });
  const three = await whole(say(text, { n: 3, max_completion_tokens: 9 }));
  expect(three.choices.map(({ index }) => index)).toEqual([0, 1, 2]);
  expect(three.usage).toMatchObject({ promptTokens: 4, completionTokens: 12 });
  expect((await whole(say(""))).choices[0]).toMatchObject({ finishReason: "stop", message: { content: "" } });
});

test("streamed parts say the same as the whole answer, for any text", async () => {
  await fc.assert(
    fc.asyncProperty(anyText, fc.integer({ min: 1, max: 3 }), async (text, n) => {
      const body = say(text, { n });
      const parts: StreamPart[] = [];
      for await (const part of chat.readStream(readSse((await call(body, { stream: true })).body), CALL)) parts.push(part);
      const expected = await whole(body);
      for (const { index, message, finishReason } of expected.choices) {
        const own = parts.flatMap((part) => (part.type === "text-delta" && part.choice === index ? [part.text] : []));
        expect(own.join("")).toBe(message["content"]);
        expect(parts).toContainEqual({ type: "finish", choice: index, reason: finishReason });
      }
      expect(parts.at(-1)).toEqual({ type: "usage", usage: expected.usage });
    }),
    { numRuns: 50 },
  );
});

test("an aborted stream stops", async () => {
  const abort = new AbortController();
  const response = await call(say("a b c d e f g h i j k l m n o p q r s t u v w x y z"), { stream: true, signal: abort.signal });
  await expect(async () => {
    for await (const _bytes of response.body) abort.abort();
  }).rejects.toThrow(/abort/i);
});

test("a stream cut before its finish reason is an error, one cut after it is not", async () => {
  async function* bytes(...frames: string[]): AsyncGenerator<Uint8Array> {
    for (const frame of frames) for (const byte of Buffer.from(frame)) yield Buffer.from([byte]);
  }
  const drain = async (...frames: string[]) => {
    const parts: StreamPart[] = [];
    for await (const part of chat.readStream(readSse(bytes(...frames)), CALL)) parts.push(part);
    return parts;
  };
  const delta = 'data: {"choices":[{"index":0,"delta":{"content":"ü"}}]}\r\n\r\n';
  const finish = ': comment\n\ndata: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\r\r';
  await expect(drain(delta)).rejects.toMatchObject({ code: "UPSTREAM_UNAVAILABLE" });
  expect(await drain(delta, finish, "\n")).toEqual([
    { type: "text-delta", choice: 0, text: "ü" },
    { type: "finish", choice: 0, reason: "stop" },
  ]);
  await expect(drain('data: {"error":{"message":"boom","code":null}}\n\n')).rejects.toMatchObject({ code: "UPSTREAM_UNAVAILABLE" });
});

test("an upstream's own 401 is never the caller's", () => {
  expect(echo.readError({ status: 401, headers: {}, body: { error: { message: "bad key sk-provider" } } })).toMatchObject({
    code: "UPSTREAM_UNAVAILABLE",
  });
  expect(echo.readError({ status: 401, headers: {}, body: { error: { message: "bad key sk-provider" } } }).message).not.toContain(
    "sk-provider",
  );
  expect(echo.readError({ status: 400, headers: {}, body: { error: { message: "no", code: "context_length_exceeded" } } })).toMatchObject({
    code: "CONTEXT_LENGTH_EXCEEDED",
  });
});
