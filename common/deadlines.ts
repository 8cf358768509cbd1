/**
 * Ends what lasts for too long. All that is added has the same time, so the oldest is always the next that is due, and one timer serves
 * them all: one of its own for each call would cost every call, and nearly none ever comes to it.
 */
export class Deadlines<Entry> {
  readonly #milliseconds: number;
  readonly #end: (entry: Entry) => void;
  readonly #startedMs = new Map<Entry, number>();
  #timer: NodeJS.Timeout | undefined;

  constructor(milliseconds: number, end: (entry: Entry) => void) {
    this.#milliseconds = milliseconds;
    this.#end = end;
  }

  add(entry: Entry): void {
    this.#startedMs.set(entry, performance.now());
    if (!this.#timer) this.#arm(this.#milliseconds);
    else if (this.#startedMs.size === 1) this.#timer.ref();
  }

  delete(entry: Entry): void {
    // The timer goes on, for whoever comes next, but no process stays for it.
    if (this.#startedMs.delete(entry) && this.#startedMs.size === 0) this.#timer?.unref();
  }

  #arm(milliseconds: number): void {
    this.#timer = setTimeout(() => this.#look(), milliseconds);
  }

  #look(): void {
    const nowMs = performance.now();
    // Whoever is added meanwhile stands behind the others, and is come to.
    for (const [entry, startedMs] of this.#startedMs) {
      const leftMs = startedMs + this.#milliseconds - nowMs;
      if (leftMs > 0) {
        this.#arm(leftMs);
        return;
      }
      this.#startedMs.delete(entry);
      this.#end(entry);
    }
    this.#timer = undefined;
  }
}
