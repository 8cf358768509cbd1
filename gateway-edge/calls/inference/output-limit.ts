import type { BytesPart, StreamPart, TokenCounter } from "../../upstream/providers/provider.ts";
import { roughTokens } from "../tokens/tokens.ts";
import type { Job } from "./job.ts";
import { OpenChoices } from "./open-choices.ts";

export interface OutputLimitOptions {
  readonly job: Pick<Job<unknown>, "choiceCount">;
  /** The provider's own counter, which counts as its upstream does; undefined: the gateway's count is an estimate. */
  readonly counter: TokenCounter | undefined;
  /** The output limit that the upstream was sent, for each choice. */
  readonly maxOutputTokens: number;
}

/** Without the upstream's vocabulary, up to nine bytes count as one token, so that the estimate never cuts a correct stream. */
const GUESS_FACTOR = 3;
const GUESS_TOKENS = 16;
/** Text up to this length is counted as a whole; longer text is counted and dropped. */
const HELD_LENGTH_MAX = 64 * 1024;
const BYTES_PER_UNIT_MAX = 3;

/** Ends a stream that exceeds the output limit of its request: no credit is reserved for the rest. */
export class OutputLimit {
  readonly #most: number;
  readonly #counter: TokenCounter | undefined;
  readonly #choices: OpenChoices;
  /** Without a counter only bytes are counted. */
  #bytes = 0;
  #texts = new Map<number, string[]>();
  #heldLength = 0;
  /** Tokens of text that was dropped. */
  #counted = 0;
  /** A text has at most as many tokens as bytes: up to this length nothing needs to be counted. */
  #lengthBelow: number;
  #isBegun = false;

  constructor({ job, counter, maxOutputTokens }: OutputLimitOptions) {
    const agreed = maxOutputTokens * job.choiceCount;
    this.#most = counter ? agreed : agreed * GUESS_FACTOR + GUESS_TOKENS;
    this.#counter = counter;
    this.#choices = new OpenChoices(job.choiceCount);
    this.#lengthBelow = Math.min(HELD_LENGTH_MAX, this.#most / BYTES_PER_UNIT_MAX);
  }

  /** Whether a part may be delivered. The first part always may: an upstream may send everything in one. */
  covers(part: StreamPart | BytesPart): boolean {
    this.#choices.received(part);
    if (part.type !== "text-delta" && part.type !== "other-delta") return true;
    const isFirst = !this.#isBegun;
    this.#isBegun = true;
    return this.#isWithin(part) || isFirst;
  }

  endings(): ReturnType<OpenChoices["endings"]> {
    return this.#choices.endings();
  }

  #isWithin({ choice, text }: { choice: number; text: string }): boolean {
    if (!this.#counter) {
      this.#bytes += Buffer.byteLength(text);
      return roughTokens(this.#bytes) <= this.#most;
    }
    const texts = this.#texts.get(choice) ?? [];
    this.#texts.set(choice, texts);
    texts.push(text);
    this.#heldLength += text.length;
    return this.#heldLength <= this.#lengthBelow || this.#count(this.#counter);
  }

  /** Whether the text is within the limit; also sets how much text can follow before the next count. */
  #count(counter: TokenCounter): boolean {
    let tokens = this.#counted;
    for (const texts of this.#texts.values()) tokens += counter.countText(texts.join(""));
    if (this.#heldLength >= HELD_LENGTH_MAX) {
      this.#counted = tokens;
      this.#texts = new Map();
      this.#heldLength = 0;
    }
    this.#lengthBelow = Math.min(HELD_LENGTH_MAX, this.#heldLength + (this.#most - tokens) / BYTES_PER_UNIT_MAX);
    return tokens <= this.#most;
  }
}
