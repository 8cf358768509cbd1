import { AppError } from "../../../../common/errors.ts";
import type { UpstreamEvent } from "../provider.ts";
import { type Expansion, expand } from "./expand.ts";
import { Utf8Stream } from "./utf8-stream.ts";

/** An event may hold a whole image; without a limit an event could fill the memory. */
const EVENT_CHARACTERS_MAX = 24 * 1024 * 1024;

/** Bytes as server-sent events: LF, CRLF or CR, comments skipped, `data` lines joined, an unfinished last event dropped. */
export function readSse(
  body: AsyncIterable<Uint8Array>,
  charactersMax: number = EVENT_CHARACTERS_MAX,
): AsyncIterableIterator<UpstreamEvent, undefined> {
  return expand(body, new SseParser(charactersMax));
}

const PLAIN = "data: ";

class SseParser implements Expansion<Uint8Array, UpstreamEvent> {
  readonly #charactersMax: number;
  readonly #text = new Utf8Stream();
  readonly #lines = new LineSplitter();
  readonly #event = new EventBuilder();

  constructor(charactersMax: number) {
    this.#charactersMax = charactersMax;
  }

  take(bytes: Uint8Array): UpstreamEvent[] {
    const text = this.#text.take(bytes);
    const events: UpstreamEvent[] = [];
    const at = this.#takePlain(text, events);
    if (at < text.length) this.#takeLines(this.#lines.take(text.slice(at)), events);
    if (this.#lines.pendingCharacters + this.#event.characters > this.#charactersMax) throw tooLarge();
    return events;
  }

  end(): UpstreamEvent[] {
    const events: UpstreamEvent[] = [];
    this.#takeLines(this.#lines.end(), events);
    return events;
  }

  /** Takes whole events of one `data` line, as nearly all are, without splitting lines; returns where other events begin. */
  #takePlain(text: string, events: UpstreamEvent[]): number {
    if (this.#lines.pendingCharacters > 0 || !this.#event.isEmpty || text.includes("\r")) return 0;
    let at = 0;
    while (text.startsWith(PLAIN, at)) {
      const end = text.indexOf("\n", at);
      if (end < 0 || text[end + 1] !== "\n") break;
      events.push({ event: undefined, data: text.slice(at + PLAIN.length, end) });
      at = end + 2;
    }
    return at;
  }

  #takeLines(lines: readonly string[], events: UpstreamEvent[]): void {
    for (const line of lines) {
      const finished = this.#event.take(line);
      if (finished) events.push(finished);
    }
  }
}

function tooLarge(): AppError {
  return new AppError("UPSTREAM_UNAVAILABLE", "The provider sent an event that is too large.");
}

class LineSplitter {
  #pending = "";

  get pendingCharacters(): number {
    return this.#pending.length;
  }

  take(text: string): string[] {
    // A CR at the very end may be the first half of a CRLF: it is left for the next bytes.
    const endedInCr = this.#pending.endsWith("\r");
    // A long line in many chunks is only joined, not searched again with each chunk.
    if (!endedInCr && !/[\r\n]/.test(text)) {
      this.#pending += text;
      return [];
    }
    const lines = (this.#pending + text).split(/\r\n|\n|\r(?!$)/);
    this.#pending = lines.pop() ?? "";
    return lines;
  }

  /** The last line, if a lone CR ended it. */
  end(): string[] {
    return this.#pending.endsWith("\r") ? [this.#pending.slice(0, -1)] : [];
  }
}

class EventBuilder {
  #event: string | undefined;
  #data: string[] = [];
  characters = 0;

  /** Nothing of an event has arrived yet. */
  get isEmpty(): boolean {
    return this.#event === undefined && this.#data.length === 0;
  }

  /** The event that this line ends, if it ends one. */
  take(line: string): UpstreamEvent | undefined {
    if (line !== "") {
      const { field, value } = splitField(line);
      if (field === "data") this.#add(value);
      else if (field === "event") this.#event = value;
      return undefined;
    }
    const finished = this.#data.length > 0 ? { event: this.#event, data: this.#data.join("\n") } : undefined;
    this.#event = undefined;
    this.#data = [];
    this.characters = 0;
    return finished;
  }

  #add(value: string): void {
    this.#data.push(value);
    // One more for each, so that empty lines count too.
    this.characters += value.length + 1;
  }
}

function splitField(line: string): { field: string; value: string } {
  const colon = line.indexOf(":");
  if (colon < 0) return { field: line, value: "" };
  const value = line.slice(colon + 1);
  return { field: line.slice(0, colon), value: value.startsWith(" ") ? value.slice(1) : value };
}
