import { readSse } from "./read-sse.ts";

const inPieces = (text: string, size: number) => {
  const bytes = new TextEncoder().encode(text);
  return new ReadableStream<Uint8Array>({
    start(controller) {
      for (let at = 0; at < bytes.length; at += size) controller.enqueue(bytes.slice(at, at + size));
      controller.close();
    },
  });
};

test.each([1, 2, 7, 1000])("events come whole when the network cuts them every %i bytes, even inside a letter", async (size) => {
  const text = ': hello\n\ndata: {"a":"ü"}\n\nevent: x\r\ndata: two\r\ndata: lines\r\n\r\ndata: [DONE]\n\ndata: cut off';
  expect(await Array.fromAsync(readSse(inPieces(text, size)))).toEqual(['{"a":"ü"}', "two\nlines", "[DONE]"]);
});
