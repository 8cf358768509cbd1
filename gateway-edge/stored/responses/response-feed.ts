/** New events, or another state of the response: it has ended, or was canceled or deleted. */
export type ResponseChange = "events" | "state";

type Listener = (change: ResponseChange) => void;

/** Wakes the readers of background responses on this edge; readers on other edges poll. */
export class ResponseFeed {
  readonly #listeners = new Map<string, Set<Listener>>();

  /** Calls `listener` after each change of the response, until the returned function is called. */
  on(id: string, listener: Listener): () => void {
    const all = this.#listeners.get(id) ?? new Set();
    this.#listeners.set(id, all.add(listener));
    return () => {
      all.delete(listener);
      if (all.size === 0 && this.#listeners.get(id) === all) this.#listeners.delete(id);
    };
  }

  changed(id: string, change: ResponseChange): void {
    for (const listener of this.#listeners.get(id) ?? []) listener(change);
  }
}
