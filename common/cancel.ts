/** What ends work early. An AbortSignal is one. */
export interface CancelSignal {
  readonly aborted: boolean;
  readonly reason: unknown;
  throwIfAborted(): void;
  addEventListener(type: "abort", listener: () => void, options?: { once: true }): void;
  removeEventListener(type: "abort", listener: () => void): void;
}

/**
 * A signal and its controller in one, at a small part of what AbortController costs: two of them are made for every call, and each is
 * listened to and left again. For the platform's functions it becomes an AbortSignal (`abortSignalOf`).
 */
export class Cancel implements CancelSignal {
  aborted = false;
  reason: unknown = undefined;
  /** Nearly always one. */
  #listeners: readonly (() => void)[] = NO_LISTENERS;
  #controller: AbortController | undefined;

  /** Only the first reason counts. Throws what a listener threw, when all have been called. */
  abort(reason: unknown): void {
    if (this.aborted) return;
    this.aborted = true;
    this.reason = reason;
    this.#controller?.abort(reason);
    const listeners = this.#listeners;
    this.#listeners = NO_LISTENERS;
    callAll(listeners);
  }

  throwIfAborted(): void {
    if (this.aborted) throw this.reason;
  }

  /** Called once, when this is aborted; never, if that has happened. */
  addEventListener(_type: "abort", listener: () => void): void {
    if (this.aborted || this.#listeners.includes(listener)) return;
    this.#listeners = this.#listeners.length === 0 ? [listener] : [...this.#listeners, listener];
  }

  removeEventListener(_type: "abort", listener: () => void): void {
    const [first] = this.#listeners;
    if (first === listener && this.#listeners.length === 1) this.#listeners = NO_LISTENERS;
    else if (first !== undefined) this.#listeners = this.#listeners.filter((each) => each !== listener);
  }

  toAbortSignal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController();
      if (this.aborted) this.#controller.abort(this.reason);
    }
    return this.#controller.signal;
  }
}

const NO_LISTENERS: readonly (() => void)[] = [];

/** The same signal for functions of the platform. */
export function abortSignalOf(signal: CancelSignal): AbortSignal {
  if (signal instanceof AbortSignal) return signal;
  if (signal instanceof Cancel) return signal.toAbortSignal();
  const controller = new AbortController();
  const abort = () => controller.abort(signal.reason);
  if (signal.aborted) abort();
  else signal.addEventListener("abort", abort, { once: true });
  return controller.signal;
}

function callAll([listener, ...others]: readonly (() => void)[]): void {
  try {
    listener?.();
  } finally {
    if (others.length > 0) callAll(others);
  }
}
