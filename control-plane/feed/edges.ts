import type { Clock } from "../../common/clock.ts";

interface Edge {
  ask(flush: number, recall: string | undefined): void;
  /** The last question it answered, and the last it was asked. */
  answered: number;
  asked: number;
}

/** Longer than an edge and its batch take; a reader does not wait for an edge that hangs. */
const PATIENCE_MS = 1000;

/**
 * The edges that listen to this control plane. Finished calls come from them in batches, a little after the client saw the end: whoever
 * reads money first has them bring what they have, so that a customer who has just called finds the call in his balance.
 */
export class Edges {
  readonly #clock: Clock;
  readonly #edges = new Map<string, Edge>();
  #flush = 0;
  #waiting: { flush: number; done: () => void }[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Returns the way to forget it. */
  add(edgeId: string, ask: Edge["ask"]): () => void {
    const edge: Edge = { ask, answered: this.#flush, asked: this.#flush };
    this.#edges.set(edgeId, edge);
    return () => {
      if (this.#edges.get(edgeId) === edge) this.#edges.delete(edgeId);
      this.#wake();
    };
  }

  /** The edge has brought everything it had when it was asked. */
  flushed(edgeId: string, flush: number): void {
    const edge = this.#edges.get(edgeId);
    if (edge && flush > edge.answered) edge.answered = flush;
    this.#wake();
  }

  /** Resolves when every edge has brought what it had, or has been waited for long enough. */
  caughtUp(): Promise<void> {
    return this.#askAll(undefined);
  }

  /** As before, and what edges hold of the organisation's credit and no call has set aside comes back. */
  recall(organizationId: string): Promise<void> {
    return this.#askAll(organizationId);
  }

  async #askAll(recall: string | undefined): Promise<void> {
    if (this.#edges.size === 0) return;
    const flush = ++this.#flush;
    for (const edge of this.#edges.values()) {
      // One that did not answer the last time is asked, and not waited for until it does.
      const isSilent = edge.answered < edge.asked;
      if (!isSilent) edge.asked = flush;
      edge.ask(flush, recall);
    }
    await new Promise<void>((resolve) => {
      const cancel = this.#clock.after(PATIENCE_MS, () => done());
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
