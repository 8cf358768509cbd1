import { AppError } from "../../common/errors.ts";
import type { SseEvent } from "./provider.ts";

/** No provider sends an event near this; without a limit one could fill our memory. */
const EVENT_CHARACTERS_MAX = 8 * 1024 * 1024;

/** Bytes as server-sent events: LF, CRLF or CR, comments skipped, `data` lines joined, an unfinished last event dropped. */
export async function* readSse(body: AsyncIterable<Uint8Array>): AsyncGenerator<SseEvent> {
  const decoder = new TextDecoder();
  const event = new EventBuilder();
  let pending = "";
  for await (const bytes of body) {
    pending += decoder.decode(bytes, { stream: true });
    if (pending.length > EVENT_CHARACTERS_MAX) throw new AppError("UPSTREAM_UNAVAILABLE", "The provider sent an event that is too large.");
    const { lines, rest } = splitLines(pending);
    pending = rest;
    for (const line of lines) {
      const finished = event.take(line);
      if (finished) yield finished;
    }
  }
}

class EventBuilder {
  #event: string | undefined;
  #data: string[] = [];

  /** The event that this line ends, if it ends one. */
  take(line: string): SseEvent | undefined {
    if (line !== "") {
      const { field, value } = splitField(line);
      if (field === "data") this.#data.push(value);
      else if (field === "event") this.#event = value;
      return undefined;
    }
    const finished = this.#data.length > 0 ? { event: this.#event, data: this.#data.join("\n") } : undefined;
    this.#event = undefined;
    this.#data = [];
    return finished;
  }
}

function splitLines(text: string): { lines: string[]; rest: string } {
  // A CR at the very end may be the first half of a CRLF: leave it for the next bytes.
  const lines = text.split(/\r\n|\n|\r(?!$)/);
  const rest = lines.pop() ?? "";
  return { lines, rest };
}

function splitField(line: string): { field: string; value: string } {
  const colon = line.indexOf(":");
  if (colon < 0) return { field: line, value: "" };
  const value = line.slice(colon + 1);
  return { field: line.slice(0, colon), value: value.startsWith(" ") ? value.slice(1) : value };
}
