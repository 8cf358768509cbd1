import type { Fields, ReportedUsage, StreamPart, UpstreamEvent } from "../../upstream/providers/provider.ts";
import { asFields } from "../../upstream/providers/shared/json-fields.ts";
import { readEvents } from "../../upstream/transports/framing.ts";
import { ANSWER_BYTES_MAX, parseAnswer } from "../../upstream/transports/upstream.ts";
import { vocabularyCounter } from "../inference/text-counters.ts";
import { CountedText } from "../tokens/counted-text.ts";
import { encodingOf } from "../tokens/token-counter.ts";
import { roughTokens } from "../tokens/tokens.ts";
import type { AnswerReader } from "./answer-readers.ts";

/** What is known of an answer when it has ended. */
export interface MeteredAnswer {
  readonly reported: ReportedUsage | undefined;
  /** The report is the last word of a whole answer. */
  readonly isFinal: boolean;
  /** The gateway's count of the output. */
  readonly output: number;
}

interface Metering {
  readonly reader: AnswerReader;
  readonly request: Fields;
  readonly model: string;
  readonly contentType: string | undefined;
  /** What comes after that is not delivered, but may have the report. */
  hasLeft(): boolean;
}

/** Reads an answer to its end, whatever it is. */
export async function meterAnswer(from: AsyncIterable<Uint8Array>, metering: Metering): Promise<MeteredAnswer> {
  const meter = new AnswerMeter(metering);
  await (isEventStream(metering.contentType) ? meter.events(from) : meter.whole(from));
  return await meter.end();
}

export function isEventStream(contentType: string | undefined): boolean {
  return /^text\/event-stream/i.test(contentType ?? "");
}

class AnswerMeter {
  readonly #metering: Metering;
  readonly #text: CountedText;
  #unread = 0;
  #opening: ReportedUsage | undefined;
  #reported: ReportedUsage | undefined;
  #isComplete = false;

  constructor(metering: Metering) {
    this.#metering = metering;
    this.#text = new CountedText(vocabularyCounter(encodingOf(metering.model)));
  }

  async events(from: AsyncIterable<Uint8Array>): Promise<void> {
    const source = uninterrupted(from);
    await this.#stream(readEvents("sse", source));
    // After an event that cannot be read, which no longer tells text from its wrapping, all bytes count.
    for await (const chunk of source) if (!this.#isComplete && !this.#metering.hasLeft()) this.#skip(chunk.length);
  }

  async whole(from: AsyncIterable<Uint8Array>): Promise<void> {
    const chunks: Uint8Array[] = [];
    let bytes = 0;
    let delivered = 0;
    for await (const chunk of from) {
      bytes += chunk.length;
      if (!this.#metering.hasLeft()) delivered += chunk.length;
      if (bytes <= ANSWER_BYTES_MAX) chunks.push(chunk);
      else chunks.length = 0;
    }
    const body = bytes <= ANSWER_BYTES_MAX ? parseAnswer(Buffer.concat(chunks)) : undefined;
    // Google's streams are a list of their events where the client does not ask for server-sent ones.
    if (Array.isArray(body)) await this.#stream(eventsOf(body));
    else if (!this.#answer(body)) this.#skip(delivered);
  }

  async end(): Promise<MeteredAnswer> {
    const isFinal = this.#isComplete && this.#reported !== undefined;
    return { reported: this.#reported ?? this.#opening, isFinal, output: (await this.#text.total()) + roughTokens(this.#unread) };
  }

  /** Whether it is an answer that can be read. */
  #answer(body: unknown): boolean {
    const { reader, request } = this.#metering;
    try {
      const { usage, text } = reader.whole(body, request);
      this.#reported = usage;
      this.#text.add(text);
      this.#isComplete = true;
    } catch {
      // It is incomplete, or an error in place of an answer.
    }
    return this.#isComplete;
  }

  async #stream(events: AsyncIterable<UpstreamEvent>): Promise<void> {
    const { reader, request } = this.#metering;
    const { opening } = reader;
    try {
      for await (const part of reader.streamed?.(opening ? this.#opened(events, opening) : events, request) ?? []) this.#take(part);
      this.#isComplete = true;
    } catch {
      // The stream ended early, or in an error: it is billed by what was delivered.
    }
  }

  async *#opened(events: AsyncIterable<UpstreamEvent>, opening: NonNullable<AnswerReader["opening"]>): AsyncGenerator<UpstreamEvent> {
    let isFirst = true;
    for await (const event of events) {
      if (isFirst) this.#opening = opening(asFields(parseAnswer(Buffer.from(event.data))));
      isFirst = false;
      yield event;
    }
  }

  #take(part: StreamPart): void {
    if (part.type === "usage") this.#reported = part.usage;
    else if (part.type !== "finish" && !this.#metering.hasLeft()) this.#text.add(part.text);
  }

  #skip(bytes: number): void {
    // Without text in its answers an operation has no output that is billed.
    if (this.#metering.reader.streamed) this.#unread += bytes;
  }
}

/** The same source for several readers in turn: the first one that stops does not end it. */
function uninterrupted(from: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  const iterator = from[Symbol.asyncIterator]();
  return { [Symbol.asyncIterator]: () => ({ next: () => iterator.next() }) };
}

async function* eventsOf(list: readonly unknown[]): AsyncGenerator<UpstreamEvent> {
  for (const each of list) yield { event: undefined, data: JSON.stringify(each) };
}
