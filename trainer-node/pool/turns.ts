/** Runs work one after the other, in the order of the calls. */
export type InTurn = <Result>(work: () => Promise<Result>, signal: AbortSignal) => Promise<Result>;

/** A caller that aborts while it waits leaves at once, and the running work is not affected. */
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
