import { AnswerReader } from "./answer-reader.ts";

const WHOLE = 'HTTP/1.1 503 Service Unavailable\r\nContent-Length: 12\r\nretry-after: 1\r\n\r\n{"error":{}}';
const STREAM = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nb\r\ndata: one\n\n\r\nc\r\ndata: 0\r\n\r\n!\r\n0\r\n\r\n";

/** Reads an answer in pieces of a size; returns after how many bytes it was complete. */
function readIn(size: number, text: string): { at: number | undefined; reader: AnswerReader } {
  const reader = new AnswerReader();
  for (let start = 0; start < text.length; start += size) {
    if (reader.add(Buffer.from(text.slice(start, start + size), "latin1"))) return { at: Math.min(text.length, start + size), reader };
  }
  return { at: undefined, reader };
}

test.each([1, 3, 7, 1000])("an answer is complete at its last byte, in whatever pieces of %i bytes it comes", (size) => {
  const whole = readIn(size, WHOLE);
  expect([whole.at, whole.reader.status, whole.reader.hasEvent]).toEqual([WHOLE.length, 503, false]);
  const stream = readIn(1000, STREAM);
  expect([stream.at, stream.reader.status, stream.reader.hasEvent]).toEqual([STREAM.length, 200, true]);
});

test("an answer that is cut is not complete", () => {
  expect(readIn(5, WHOLE.slice(0, -1)).at).toBeUndefined();
  expect(readIn(1000, STREAM.slice(0, -1)).at).toBeUndefined();
});

test("the first event of a stream is told from the first one with text", () => {
  const reader = new AnswerReader();
  reader.add(Buffer.from("HTTP/1.1 200 OK\r\n\r\n"));
  const seen = ['data: {"delta":{"role":"assistant","content":""}}\n\n', 'data: {"delta":{"content":"a"}}\n\n'].map((event) => {
    reader.add(Buffer.from(event));
    return [reader.hasEvent, reader.hasText];
  });
  expect(seen).toEqual([
    [true, false],
    [true, true],
  ]);
});
