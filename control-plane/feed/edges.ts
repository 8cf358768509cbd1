import type { Clock } from "../../common/clock.ts";

/** What an edge is asked to report. */
export interface FlushRequest {
  readonly flush: number;
  /** An organization whose leased credit that no call has reserved has to be returned. */
  readonly recall: string | undefined;
  /** Only calls of this organization; undefined: of all. */
  readonly organizationId: string | undefined;
}

type Ask = (request: FlushRequest) => void;

interface Edge {
  /** One for each of its streams: an edge that knows several control planes may have two to one of them. The newest is used. */
  readonly asks: Ask[];
  /** What a reader waits for, by number. */
  readonly open: Map<number, FlushRequest>;
  /**
   * What readers waited for in vain since the edge last answered: an organization, or undefined for all. The edge is asked for these but not
   * waited for. Others are waited for: calls of one organization may wait for the owner of their slot while the edge ships the rest.
   */
  readonly silentFor: Set<string | undefined>;
}

interface Reader {
  readonly flush: number;
  done(): void;
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
  #readers: Reader[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Returns the function that removes the edge. */
  add(edgeId: string, ask: Ask): () => void {
    const edge: Edge = this.#edges.get(edgeId) ?? { asks: [], open: new Map(), silentFor: new Set() };
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

  /** The edge has reported everything that flush number `flush` requested. */
  flushed(edgeId: string, flush: number): void {
    const edge = this.#edges.get(edgeId);
    if (!edge) return;
    edge.silentFor.clear();
    const answered = edge.open.get(flush);
    for (const [number, { organizationId, recall }] of answered ? edge.open : []) {
      const isCovered = answered?.organizationId === undefined || answered.organizationId === organizationId;
      // A request that recalls credit is answered by its own number only.
      if (number === flush || (number < flush && isCovered && recall === undefined)) edge.open.delete(number);
    }
    this.#wake();
  }

  /** Resolves when every edge has reported its finished calls, all or those of an organization, or after a timeout. */
  caughtUp(organizationId?: string): Promise<void> {
    return this.#askAll({ recall: undefined, organizationId });
  }

  /** Like `caughtUp`, and edges also return the organization's leased credit that no call has reserved. */
  recall(organizationId: string): Promise<void> {
    return this.#askAll({ recall: organizationId, organizationId });
  }

  async #askAll(asked: Omit<FlushRequest, "flush">): Promise<void> {
    if (this.#edges.size === 0) return;
    const request = { ...asked, flush: ++this.#flush };
    for (const edge of this.#edges.values()) {
      if (!edge.silentFor.has(request.organizationId)) edge.open.set(request.flush, request);
      edge.asks.at(-1)?.(request);
    }
    await new Promise<void>((resolve) => {
      const cancel = this.#clock.after(FLUSH_TIMEOUT_MS, () => this.#giveUp(request, reader));
      const done = () => {
        cancel();
        this.#readers = this.#readers.filter((each) => each !== reader);
        resolve();
      };
      const reader = { flush: request.flush, done };
      this.#readers.push(reader);
      this.#wake();
    });
  }

  #giveUp({ flush, organizationId }: FlushRequest, reader: Reader): void {
    for (const edge of this.#edges.values()) if (edge.open.delete(flush)) edge.silentFor.add(organizationId);
    reader.done();
  }

  #wake(): void {
    for (const { flush, done } of [...this.#readers]) {
      const isOpen = [...this.#edges.values()].some(({ open }) => open.has(flush));
      if (!isOpen) done();
    }
  }
}
