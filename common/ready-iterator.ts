/** An async iterator that can also return, without a wait, elements that are here already. */
export interface ReadyIterator<T> extends AsyncIterator<T, unknown> {
  /**
   * The next element, if it is here. Undefined if it has to be waited for, and at the end and for errors: `next` returns those. Not called
   * while a `next` is pending.
   */
  ready?(): T | undefined;
  /**
   * Calls back once when `ready` or `next` may have something, without a promise for each step in between: every read of every stream passes
   * several iterators. False: there may be something now, or `next` has to be called for it. Not called while a `next` is pending.
   */
  wake?(onArrival: () => void): boolean;
}
