import { ignore } from "../../../../common/ignore.ts";
import type { ReadyIterator } from "../../../../common/ready-iterator.ts";

/** Maps each element of a source to any number of others; may have state. */
export interface Expansion<In, Out> {
  /** Returns none, one or several. What it throws ends the source too. */
  take(piece: In): readonly Out[];
  /** After the last element. */
  end(): readonly Out[];
  /** True: the source is not read further. */
  readonly isDone?: boolean;
}

/**
 * Maps the elements of a source, one by one and pulled. An async generator would do the same, but takes several turns of the microtask
 * queue for every element, and every token of every stream passes several of these.
 */
export function expand<In, Out>(source: AsyncIterable<In>, expansion: Expansion<In, Out>): AsyncIterableIterator<Out, undefined> {
  return new Expanded(source[Symbol.asyncIterator](), expansion);
}

class Expanded<In, Out> implements AsyncIterableIterator<Out, undefined>, ReadyIterator<Out> {
  readonly #source: ReadyIterator<In>;
  readonly #expansion: Expansion<In, Out>;
  #ready: readonly Out[] = [];
  #at = 0;
  #isOver = false;
  /** What `ready` met, for `next` to throw. */
  #met: { readonly error: unknown } | undefined;

  constructor(source: ReadyIterator<In>, expansion: Expansion<In, Out>) {
    this.#source = source;
    this.#expansion = expansion;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** All elements of one piece, and of the pieces that are here, in one turn: a read of a stream is a step, however many events it has. */
  ready(): Out | undefined {
    while (this.#at >= this.#ready.length && !this.#isOver) {
      const piece = this.#source.ready?.();
      if (piece === undefined) return undefined;
      try {
        this.#ready = this.#expanded(piece);
        this.#at = 0;
      } catch (error) {
        this.#met = { error };
      }
    }
    return this.#ready[this.#at++];
  }

  wake(onArrival: () => void): boolean {
    const isWaiting = !this.#isOver && !this.#met && this.#at >= this.#ready.length;
    return isWaiting && this.#source.wake?.(onArrival) === true;
  }

  next(): Promise<IteratorResult<Out, undefined>> {
    const met = this.#met;
    if (met) {
      this.#met = undefined;
      return Promise.reject(met.error);
    }
    const ready = this.#nextReady();
    return ready ? Promise.resolve(ready) : this.#source.next().then(this.#take, this.#fail);
  }

  async return(): Promise<IteratorResult<Out, undefined>> {
    this.#ready = [];
    this.#isOver = true;
    await this.#source.return?.();
    return { done: true, value: undefined };
  }

  readonly #take = (piece: IteratorResult<In, unknown>): IteratorResult<Out, undefined> | Promise<IteratorResult<Out, undefined>> => {
    this.#ready = piece.done ? this.#last() : this.#expanded(piece.value);
    this.#at = 0;
    return this.#nextReady() ?? this.#source.next().then(this.#take, this.#fail);
  };

  readonly #fail = (error: unknown): never => {
    this.#isOver = true;
    throw error;
  };

  #nextReady(): IteratorResult<Out, undefined> | undefined {
    if (this.#at < this.#ready.length) return { done: false, value: this.#ready[this.#at++] as Out };
    return this.#isOver ? { done: true, value: undefined } : undefined;
  }

  #last(): readonly Out[] {
    this.#isOver = true;
    return this.#expansion.end();
  }

  #expanded(piece: In): readonly Out[] {
    try {
      const parts = this.#expansion.take(piece);
      if (this.#expansion.isDone) this.#stop();
      return parts;
    } catch (error) {
      this.#stop();
      throw error;
    }
  }

  /** Not awaited: elements that are ready are delivered at once. */
  #stop(): void {
    this.#isOver = true;
    void ignore(this.#source.return?.(), "the source is not read on");
  }
}
