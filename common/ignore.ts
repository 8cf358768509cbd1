/** Drops a failure. `_why` says to the reader why nothing has to be done about it; `make check` refuses `.catch(() => {})` without one. */
export function ignore(promise: Promise<unknown> | undefined, _why: string): Promise<void> {
  return promise === undefined ? Promise.resolve() : promise.then(nothing, nothing);
}

/** The value, or the fallback after a failure, which needs no other answer for the given reason. */
export function orElse<Value, Fallback>(promise: Promise<Value>, fallback: Fallback, _why: string): Promise<Value | Fallback> {
  return promise.catch(() => fallback);
}

const nothing = (): void => {};
