/**
 * What this control plane owns, as it believes. The store believes less: it commits in a slot only if the slot still has the epoch that was
 * current when the transaction began, so that a control plane that lost a slot without knowing it writes nothing there.
 */
export interface Fence {
  /** The epoch under which this control plane owns a slot; undefined: it does not. */
  epochOf(slot: number): number | undefined;
}
