/**
 * Ends what lasts for too long. All that is added has the same time, so the oldest is always the next that is due, and one timer serves
 * them all: one of its own for each call would cost every call, and nearly none ever comes to it.
 */
export class Deadlines<Entry> {
  readonly #milliseconds: number;
  readonly #end: (entry: Entry) => void;
  readonly #startedMs = new Map<Entry, number>();
  #isArmed = false;

  constructor(milliseconds: number, end: (entry: Entry) => void) {
    this.#milliseconds = milliseconds;
    this.#end = end;
  }

  add(entry: Entry): void {
    this.#startedMs.set(entry, performance.now());
    if (!this.#isArmed) this.#arm(this.#milliseconds);
  }

  delete(entry: Entry): void {
    this.#startedMs.delete(entry);
  }

  #arm(milliseconds: number): void {
    this.#isArmed = true;
    setTimeout(() => this.#look(), milliseconds).unref();
  }

  #look(): void {
    this.#isArmed = false;
    const nowMs = performance.now();
    for (const [entry, startedMs] of this.#startedMs) {
      const leftMs = startedMs + this.#milliseconds - nowMs;
      if (leftMs > 0) {
        this.#arm(leftMs);
        return;
      }
      this.#startedMs.delete(entry);
      this.#end(entry);
    }
  }
}
