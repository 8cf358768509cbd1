import { ignore } from "../../common/ignore.ts";

/** Runs one writer at a time, because LMDB allows only one. */
export class WriteQueue {
  #tail: Promise<unknown> = Promise.resolve();

  run<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#tail.then(work);
    this.#tail = ignore(result, "the caller of this work gets it; the next work starts anyway");
    return result;
  }

  /** Resolves when everything queued so far is done. */
  async idle(): Promise<void> {
    await this.#tail;
  }
}
