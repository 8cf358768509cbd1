/**
 * One writer at a time. LMDB allows only one; on MongoDB every write meets the ledger's head or the feed's, so that two at once
 * in one process would only conflict and start over.
 */
export class WriteQueue {
  #tail: Promise<unknown> = Promise.resolve();

  run<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#tail.then(work);
    this.#tail = result.catch(() => undefined);
    return result;
  }

  /** Resolves when everything queued so far is done. */
  async idle(): Promise<void> {
    await this.#tail;
  }
}
