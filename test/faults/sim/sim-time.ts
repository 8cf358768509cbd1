interface Timer {
  readonly atMs: number;
  readonly order: number;
  readonly wake: () => void;
  readonly turns: number;
  cancelled: boolean;
}

/** Turns of the event loop after an event: a journal's write, its sync and what waits for it take that many. */
const TURNS = 4;
/** After an event of which nothing but promises follow. Most of a run are heartbeats, so these are cheap. */
export const LIGHT = 1;

/** Time that stands still until the next thing is due. Everything in the simulation that waits, waits here. */
export class SimTime {
  nowMs = 0;
  #order = 0;
  /** A heap by time, then by order of request. */
  readonly #timers: Timer[] = [];

  /** Calls back at a later moment; returns the way to prevent it. */
  after(milliseconds: number, wake: () => void, turns: number = TURNS): () => void {
    const timer = { atMs: this.nowMs + Math.max(0, milliseconds), order: this.#order++, wake, turns, cancelled: false };
    this.#push(timer);
    return () => {
      timer.cancelled = true;
    };
  }

  sleep(milliseconds: number): Promise<void> {
    return new Promise((resolve) => void this.after(milliseconds, resolve));
  }

  /** Lets everything happen that is due until then. */
  async advance(milliseconds: number): Promise<void> {
    const untilMs = this.nowMs + milliseconds;
    await pass(TURNS);
    for (let timer = this.#next(untilMs); timer; timer = this.#next(untilMs)) {
      this.nowMs = timer.atMs;
      timer.wake();
      // Light events of one moment do not have to wait for each other.
      if (timer.turns === LIGHT && this.#isLightNow()) continue;
      await pass(timer.turns);
    }
    this.nowMs = untilMs;
  }

  #isLightNow(): boolean {
    const [next] = this.#timers;
    return next !== undefined && next.atMs === this.nowMs && next.turns === LIGHT;
  }

  #next(untilMs: number): Timer | undefined {
    for (let first = this.#timers[0]; first && first.atMs <= untilMs; first = this.#timers[0]) {
      this.#pop();
      if (!first.cancelled) return first;
    }
    return undefined;
  }

  #push(timer: Timer): void {
    const heap = this.#timers;
    let at = heap.push(timer) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!isBefore(timer, heap[parent] as Timer)) break;
      heap[at] = heap[parent] as Timer;
      at = parent;
    }
    heap[at] = timer;
  }

  #pop(): void {
    const heap = this.#timers;
    const last = heap.pop() as Timer;
    if (heap.length === 0) return;
    let at = 0;
    for (;;) {
      let child = at * 2 + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && isBefore(heap[child + 1] as Timer, heap[child] as Timer)) child++;
      if (!isBefore(heap[child] as Timer, last)) break;
      heap[at] = heap[child] as Timer;
      at = child;
    }
    heap[at] = last;
  }
}

function isBefore(left: Timer, right: Timer): boolean {
  return left.atMs < right.atMs || (left.atMs === right.atMs && left.order < right.order);
}

async function pass(turns: number): Promise<void> {
  for (let turn = 0; turn < turns; turn++) await new Promise((resolve) => setImmediate(resolve));
}
