import type { Clock } from "../../common/clock.ts";

type Ask = (flush: number, recall: string | undefined) => void;

interface Edge {
  /** One for each of its streams: an edge that knows several control planes may have two to one of them. The newest is used. */
  readonly asks: Ask[];
  /** The last flush it answered, and the last it was asked for. */
  answered: number;
  asked: number;
}

/** Longer than an edge needs to send a batch; a reader does not wait for an edge that hangs. */
const FLUSH_TIMEOUT_MS = 1000;

/**
 * The edges that watch this control plane. Edges report finished calls in batches, a little after the client saw the end. A request that
 * reads money flushes the edges first, so that a balance includes the call that has just ended.
 */
export class Edges {
  readonly #clock: Clock;
  readonly #edges = new Map<string, Edge>();
  #flush = 0;
  #waiting: { flush: number; done: () => void }[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Returns the function that removes the edge. */
  add(edgeId: string, ask: Ask): () => void {
    const edge = this.#edges.get(edgeId) ?? { asks: [], answered: this.#flush, asked: this.#flush };
    edge.asks.push(ask);
    this.#edges.set(edgeId, edge);
    return () => {
      edge.asks.splice(edge.asks.indexOf(ask), 1);
      if (edge.asks.length === 0) this.#edges.delete(edgeId);
      this.#wake();
    };
  }

  /** How many there are. */
  get connected(): number {
    return this.#edges.size;
  }

  /** The edge has reported everything that it had when flush number `flush` was requested. */
  flushed(edgeId: string, flush: number): void {
    const edge = this.#edges.get(edgeId);
    if (edge && flush > edge.answered) edge.answered = flush;
    this.#wake();
  }

  /** Resolves when every edge has reported its finished calls, or after a timeout. */
  caughtUp(): Promise<void> {
    return this.#askAll(undefined);
  }

  /** Like `caughtUp`, and edges also return the organization's leased credit that no call has reserved. */
  recall(organizationId: string): Promise<void> {
    return this.#askAll(organizationId);
  }

  async #askAll(recall: string | undefined): Promise<void> {
    if (this.#edges.size === 0) return;
    const flush = ++this.#flush;
    for (const edge of this.#edges.values()) {
      // An edge that has not answered the last flush is asked, but not waited for until it answers.
      const isSilent = edge.answered < edge.asked;
      if (!isSilent) edge.asked = flush;
      edge.asks.at(-1)?.(flush, recall);
    }
    await new Promise<void>((resolve) => {
      const cancel = this.#clock.after(FLUSH_TIMEOUT_MS, () => done());
      const done = () => {
        cancel();
        this.#waiting = this.#waiting.filter((waiting) => waiting.done !== done);
        resolve();
      };
      this.#waiting.push({ flush, done });
      this.#wake();
    });
  }

  #wake(): void {
    for (const { flush, done } of [...this.#waiting]) {
      const isOpen = [...this.#edges.values()].some((edge) => edge.asked >= flush && edge.answered < flush);
      if (!isOpen) done();
    }
  }
}
