import { CountedText, type TextCounter } from "./counted-text.ts";

/** The text of one answer by choice, so far or whole. Choices are counted separately: no token spans two of them. */
export class DeliveredText {
  readonly #counter: TextCounter;
  readonly #choiceCount: number;
  /** Of a whole answer, which is in memory anyway. */
  readonly #whole: readonly string[];
  readonly #choices = new Map<number, CountedText>();

  constructor(counter: TextCounter, { choiceCount, whole }: { choiceCount: number; whole: readonly string[] }) {
    this.#counter = counter;
    this.#choiceCount = choiceCount;
    this.#whole = whole;
  }

  add(choice: number, text: string): void {
    // An upstream may use any choice index: no more choices are counted separately than were requested.
    const place = Number.isInteger(choice) && choice > 0 && choice < this.#choiceCount ? choice : 0;
    let counted = this.#choices.get(place);
    if (!counted) {
      counted = new CountedText(this.#counter);
      this.#choices.set(place, counted);
    }
    counted.add(text);
  }

  /** As of each text in `counted-text.ts`. */
  soFar(tailCharactersMax?: number): number {
    let tokens = 0;
    for (const counted of this.#choices.values()) tokens += counted.soFar(tailCharactersMax);
    return tokens;
  }

  total(): number | Promise<number> {
    const counts = [...this.#whole.map((text) => this.#counter.count(text)), ...[...this.#choices.values()].map((text) => text.total())];
    return counts.some((count) => count instanceof Promise) ? Promise.all(counts).then(sum) : sum(counts as number[]);
  }
}

function sum(counts: readonly number[]): number {
  return counts.reduce((total, count) => total + count, 0);
}
