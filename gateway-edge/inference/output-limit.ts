import type { BytesPart, StreamPart, TokenCounter } from "../providers/provider.ts";
import type { Job } from "./job.ts";
import { OpenChoices } from "./open-choices.ts";
import { roughCounter } from "./tokens.ts";

export interface OutputLimitOptions {
  readonly job: Pick<Job<unknown>, "choiceCount">;
  /** The provider's own, which counts as its upstream does; undefined: ours is a guess. */
  readonly counter: TokenCounter | undefined;
  /** What the upstream was asked for, of each choice. */
  readonly maxOutputTokens: number;
}

/** Without the upstream's vocabulary a token may be up to nine bytes long before we call it two: no honest stream is cut by our guess. */
const GUESS_FACTOR = 3;
const GUESS_TOKENS = 16;
/** Text that is kept to be counted as a whole; what is longer is counted and forgotten. */
const KEPT_LENGTH_MAX = 64 * 1024;
const BYTES_PER_UNIT_MAX = 3;

/** Ends a stream that goes on beyond what its upstream was asked for: nothing was set aside for the rest. */
export class OutputLimit {
  readonly #most: number;
  readonly #counter: TokenCounter;
  readonly #choices: OpenChoices;
  #texts = new Map<number, string[]>();
  #keptLength = 0;
  /** Tokens of text that is not kept any more. */
  #counted = 0;
  /** No text has more tokens than bytes: up to this length nothing has to be counted. */
  #lengthBelow: number;

  constructor({ job, counter, maxOutputTokens }: OutputLimitOptions) {
    const agreed = maxOutputTokens * job.choiceCount;
    this.#most = counter ? agreed : agreed * GUESS_FACTOR + GUESS_TOKENS;
    this.#counter = counter ?? roughCounter;
    this.#choices = new OpenChoices(job.choiceCount);
    this.#lengthBelow = this.#most / BYTES_PER_UNIT_MAX;
  }

  /** Whether a part may be handed over. The first always may: an upstream may say all it has to say in one. */
  covers(part: StreamPart | BytesPart): boolean {
    this.#choices.heard(part);
    if (part.type !== "text-delta" && part.type !== "other-delta") return true;
    const isFirst = this.#keptLength === 0 && this.#counted === 0;
    const texts = this.#texts.get(part.choice) ?? [];
    this.#texts.set(part.choice, texts);
    texts.push(part.text);
    this.#keptLength += part.text.length;
    return this.#keptLength <= this.#lengthBelow || this.#count() || isFirst;
  }

  endings(): ReturnType<OpenChoices["endings"]> {
    return this.#choices.endings();
  }

  /** Whether it is still within the limit; and how much text can come before that has to be asked again. */
  #count(): boolean {
    let tokens = this.#counted;
    for (const texts of this.#texts.values()) tokens += this.#counter.countText(texts.join(""));
    if (this.#keptLength > KEPT_LENGTH_MAX) {
      this.#counted = tokens;
      this.#texts = new Map();
      this.#keptLength = 0;
    }
    this.#lengthBelow = this.#keptLength + (this.#most - tokens) / BYTES_PER_UNIT_MAX;
    return tokens <= this.#most;
  }
}
