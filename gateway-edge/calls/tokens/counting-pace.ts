import { turn } from "./turn.ts";

/** How long a count works at a time, and what it waits for before it goes on. */
export interface Pacing {
  readonly sliceMs: number;
  rest(): Promise<void>;
}

/** A count of a paid call: it lets other work of the process go on, and goes on itself. */
const PAID: Pacing = { sliceMs: 10, rest: turn };

/** The clock is not read for every word. */
const CHARACTERS_PER_LOOK = 4096;

/** Keeps one count, of however many texts, from blocking the event loop. */
export class CountingPace {
  readonly #pacing: Pacing;
  #seen = 0;
  #resumedMs = performance.now();

  constructor(pacing: Pacing = PAID) {
    this.#pacing = pacing;
  }

  /** Whether it is time to rest, after so many more characters. */
  isOver(characters: number): boolean {
    this.#seen += 1 + characters;
    if (this.#seen < CHARACTERS_PER_LOOK) return false;
    this.#seen = 0;
    return performance.now() - this.#resumedMs >= this.#pacing.sliceMs;
  }

  async rest(): Promise<void> {
    await this.#pacing.rest();
    this.#resumedMs = performance.now();
  }
}
