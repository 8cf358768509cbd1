import { ignore } from "../../../../common/ignore.ts";

/** Yields the data of each server-sent event, however the network splits the stream. */
export async function* readSse(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  let rest = "";
  const reader = body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>).getReader();
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      const events = (rest + value).split(/\r?\n\r?\n/);
      rest = events.pop() ?? "";
      for (const event of events) {
        const data = event.split(/\r?\n/).flatMap((line) => (line.startsWith("data:") ? [line.slice(5).trimStart()] : []));
        if (data.length > 0) yield data.join("\n");
      }
    }
  } finally {
    await ignore(reader.cancel(), "the stream is not read on");
  }
}
