import { ignore } from "../../../common/ignore.ts";
import type { BytesPart, ReportedUsage, StreamPart } from "../../upstream/providers/provider.ts";
import { inChoice } from "../../upstream/providers/shared/provider-text.ts";
import { joinedUsage } from "./joined-usage.ts";

type Part = StreamPart | BytesPart;

/**
 * The streams of single choices as one stream of several: parts in the order of their arrival, the usage of all together at the end. Of each
 * stream at most one part waits here, so that a slow client slows all of them down.
 */
export async function* mergedChoices(streams: readonly AsyncIterable<Part>[]): AsyncGenerator<Part> {
  const arrivals = new Arrivals(streams.map((stream) => stream[Symbol.asyncIterator]()));
  const reported = new Array<ReportedUsage | undefined>(streams.length).fill(undefined);
  try {
    for (let next = await arrivals.next(); next; next = await arrivals.next()) {
      const { choice, part } = next;
      if (part.type === "usage") reported[choice] = part.usage;
      else yield part.type === "bytes" ? part : inChoice(part, choice);
      arrivals.pull(choice);
    }
    const usage = joinedUsage(reported);
    if (usage) yield { type: "usage", usage };
  } finally {
    arrivals.close();
  }
}

/** The next part of each of several streams, first come, first served. */
class Arrivals {
  readonly #iterators: readonly AsyncIterator<Part>[];
  readonly #arrived: { readonly choice: number; readonly result: Promise<IteratorResult<Part>> }[] = [];
  #open: number;
  #wake = () => {};

  constructor(iterators: readonly AsyncIterator<Part>[]) {
    this.#iterators = iterators;
    this.#open = iterators.length;
    for (const choice of iterators.keys()) this.pull(choice);
  }

  pull(choice: number): void {
    const result = (this.#iterators[choice] as AsyncIterator<Part>).next();
    const note = () => {
      this.#arrived.push({ choice, result });
      this.#wake();
    };
    result.then(note, note);
  }

  /** Undefined when every stream has ended. Throws the first failure. */
  async next(): Promise<{ choice: number; part: Part } | undefined> {
    while (this.#open > 0) {
      const first = this.#arrived.shift();
      const result = await first?.result;
      if (!first) await this.#arrival();
      else if (!result || result.done) this.#open--;
      else return { choice: first.choice, part: result.value };
    }
    return undefined;
  }

  close(): void {
    for (const iterator of this.#iterators) void ignore(iterator.return?.(), "the stream is not read on");
  }

  #arrival(): Promise<void> {
    if (this.#arrived.length > 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }
}
