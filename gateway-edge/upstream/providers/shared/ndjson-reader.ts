import { AppError } from "../../../../common/errors.ts";
import type { UpstreamEvent } from "../provider.ts";

/** No provider sends a line near this size; without a limit a line could fill the memory. */
const LINE_CHARACTERS_MAX = 1024 * 1024;

/** Bytes as one JSON text per line. A last line without a line feed counts: some servers omit it. */
export async function* readNdjson(body: AsyncIterable<Uint8Array>): AsyncGenerator<UpstreamEvent> {
  const decoder = new TextDecoder();
  let pending = "";
  for await (const bytes of body) {
    pending += decoder.decode(bytes, { stream: true });
    const lines = pending.split("\n");
    pending = lines.pop() ?? "";
    if (pending.length > LINE_CHARACTERS_MAX) throw new AppError("UPSTREAM_UNAVAILABLE", "The provider sent a line that is too large.");
    yield* lines.flatMap(asEvent);
  }
  yield* asEvent(pending + decoder.decode());
}

function asEvent(line: string): UpstreamEvent[] {
  const data = line.trim();
  return data === "" ? [] : [{ event: undefined, data }];
}
