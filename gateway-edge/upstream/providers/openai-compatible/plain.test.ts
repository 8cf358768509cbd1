import fc from "fast-check";
import type { StreamPart, UpstreamEvent } from "../provider.ts";
import { encodedText, PlainText } from "../shared/provider-text.ts";
import { readOpenAiStream } from "./answer.ts";
import { PlainDeltaReader } from "./plain.ts";

const chunk = (content: unknown, { others = {}, rest = {} } = {}) =>
  JSON.stringify({
    id: "chatcmpl-1",
    object: "chat.completion.chunk",
    created: 1,
    model: "gpt-4o",
    system_fingerprint: null,
    choices: [{ index: 0, delta: { content }, logprobs: null, finish_reason: null, ...others }],
    ...rest,
  });

test("a chunk of text alone is not parsed, and its text is the upstream's, byte for byte", () => {
  const reader = new PlainDeltaReader();
  fc.assert(
    fc.property(fc.string({ unit: "grapheme", minLength: 1 }), fc.boolean(), (text, withUsage) => {
      const data = chunk(text, { rest: withUsage ? { usage: null, obfuscation: "aB3" } : {} });
      const part = reader.read(data);
      expect(part).toBeInstanceOf(PlainText);
      expect(part?.text).toBe(text);
      expect(part && encodedText(part)).toBe(JSON.stringify(text));
    }),
  );
});

test.each([
  ["a finish reason", chunk("a", { others: { finish_reason: "stop" } })],
  ["logprobs", chunk("a", { others: { logprobs: { content: [] } } })],
  ["usage", chunk("a", { rest: { usage: { prompt_tokens: 1 } } })],
  ["an error", chunk("a", { rest: { error: { message: "no" } } })],
  ["an error in front", chunk("a").replace('{"id"', '{"error":{"message":"no"},"id"')],
  ["no text", chunk("")],
  ["null", chunk(null)],
  ["a second field of the delta", chunk("a").replace('"content":"a"', '"content":"a","reasoning":"b"')],
  ["a second choice", chunk("a").replace("}]", '},{"index":1,"delta":{"content":"b"}}]')],
  ["a broken escape", chunk("a").replace('"a"', '"\\x"')],
  ["a raw control character", chunk("a").replace('"a"', '"\t"')],
  ["an unfinished string", chunk("a").replace('"a"}', '"a}')],
  ["something else", "[DONE]"],
])("a chunk with %s is read in full", (_name, data) => {
  const reader = new PlainDeltaReader();
  expect(reader.read(chunk("before"))?.text).toBe("before");
  expect(reader.read(data)).toBeUndefined();
});

test("a copy with another text does not carry the old one along", () => {
  const part = new PlainDeltaReader().read(chunk("secret"));
  if (!part) throw new Error("not read");
  expect(encodedText({ ...part, text: "masked" })).toBe('"masked"');
});

test("plain and full chunks in one stream give the parts that full reading gives", async () => {
  const data = [
    chunk(""),
    chunk("a"),
    chunk("b", { others: { logprobs: { content: [] } } }),
    chunk("c"),
    chunk("", { others: { finish_reason: "stop" } }),
  ];
  const parts = async (spaced: boolean) => {
    const read: StreamPart[] = [];
    for await (const part of readOpenAiStream(events(data.map((each) => (spaced ? ` ${each}` : each))))) read.push(part);
    return read.map((part) => ("text" in part ? { choice: part.choice, text: part.text } : part));
  };
  expect(await parts(false)).toEqual(await parts(true));
});

async function* events(data: readonly string[]): AsyncGenerator<UpstreamEvent> {
  for (const each of data) yield { event: undefined, data: each };
}
