import { ignore } from "../../../common/ignore.ts";
import type { Scope } from "../scopes.ts";

/**
 * Runs one writer of a scope at a time, in the order of their calls. Two in one process would only conflict in the scope's order document
 * (apply.ts) and run again. A writer of several scopes joins all queues at once, so that none can wait for each other.
 */
export class ScopeQueues {
  readonly #tails = new Map<Scope, Promise<void>>();
  readonly #runningMax: number;
  #running = 0;
  readonly #waiting: (() => void)[] = [];
  readonly #unfinished = new Set<Promise<void>>();

  /** At most `runningMax` writers run at a time, because each holds a connection. */
  constructor(runningMax: number) {
    this.#runningMax = runningMax;
  }

  run<T>(scopes: readonly Scope[], work: () => Promise<T>): Promise<T> {
    const ahead = new Set(scopes.flatMap((scope) => this.#tails.get(scope) ?? []));
    const result = Promise.all(ahead).then(() => this.#runOne(work));
    const tail: Promise<void> = ignore(result, "the caller of this work gets it; the next work starts anyway").then(() =>
      this.#leave(scopes, tail),
    );
    for (const scope of scopes) this.#tails.set(scope, tail);
    this.#unfinished.add(tail);
    return result;
  }

  /** Resolves when everything queued so far is done. */
  async idle(): Promise<void> {
    await Promise.all(this.#unfinished);
  }

  /** Scopes with a transaction that waits or writes. */
  get size(): number {
    return this.#tails.size;
  }

  #leave(scopes: readonly Scope[], tail: Promise<void>): void {
    this.#unfinished.delete(tail);
    for (const scope of scopes) if (this.#tails.get(scope) === tail) this.#tails.delete(scope);
  }

  async #runOne<T>(work: () => Promise<T>): Promise<T> {
    if (this.#running >= this.#runningMax) await new Promise<void>((resolve) => void this.#waiting.push(resolve));
    else this.#running++;
    try {
      return await work();
    } finally {
      // The next one takes this one's place, or the place is free.
      const next = this.#waiting.shift();
      if (next) next();
      else this.#running--;
    }
  }
}
