/** Runs work one after the other, in the order in which it was asked for. */
export type InTurn = <Result>(work: () => Promise<Result>, signal: AbortSignal) => Promise<Result>;

/** Who gives up while he waits is gone at once, and work that is done is not disturbed by it. */
export function createTurns(): InTurn {
  let last: Promise<unknown> = Promise.resolve();
  return async (work, signal) => {
    const before = last;
    const own = Promise.withResolvers<void>();
    last = before.then(() => own.promise);
    try {
      await unlessAborted(before, signal);
      return await work();
    } finally {
      own.resolve();
    }
  };
}

async function unlessAborted(wait: Promise<unknown>, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const aborted = Promise.withResolvers<never>();
  const abort = (): void => aborted.reject(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  try {
    await Promise.race([wait, aborted.promise]);
    signal.throwIfAborted();
  } finally {
    signal.removeEventListener("abort", abort);
  }
}
