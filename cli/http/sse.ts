/** One event of a text/event-stream. */
export interface SseEvent {
  readonly event: string;
  readonly data: string;
  readonly id: string | undefined;
}

/** Yields events as they arrive. Comment lines, which keep connections alive, are skipped. */
export async function* readSse(body: ReadableStream<Uint8Array>): AsyncGenerator<SseEvent> {
  let rest = "";
  for await (const chunk of body.pipeThrough(new TextDecoderStream())) {
    const blocks = (rest + chunk).replaceAll("\r\n", "\n").split("\n\n");
    rest = blocks.pop() ?? "";
    for (const block of blocks) {
      const event = readBlock(block);
      if (event) yield event;
    }
  }
  const last = readBlock(rest);
  if (last) yield last;
}

function readBlock(block: string): SseEvent | undefined {
  const fields = { event: "message", id: undefined as string | undefined };
  const data: string[] = [];
  for (const line of block.split("\n")) {
    const [, name, value = ""] = /^(\w+):? ?(.*)$/s.exec(line) ?? [];
    if (name === "data") data.push(value);
    else if (name === "event") fields.event = value;
    else if (name === "id") fields.id = value;
  }
  return data.length === 0 ? undefined : { ...fields, data: data.join("\n") };
}
