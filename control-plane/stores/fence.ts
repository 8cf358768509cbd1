import { NotOwner } from "../domain/not-owner.ts";
import { type Scope, slotOfScope } from "./scopes.ts";

/**
 * What this control plane owns, as it believes. The store believes less: it commits in a slot only if the slot still has the epoch that was
 * current when the transaction began, so that a control plane that lost a slot without knowing it writes nothing there.
 */
export interface Fence {
  /** The epoch under which this control plane owns a slot; undefined: it does not. */
  epochOf(slot: number): number | undefined;
}

/** A scope of a transaction, and the epoch that its slot must still have at the commit. */
export interface Place {
  readonly scope: Scope;
  /** Absent: the scope is shared, or there is one control plane only. */
  readonly epoch: number | undefined;
}

/** The places of a transaction that begins now. Throws `NotOwner` for a slot of another control plane. */
export function placesOf(scopes: readonly Scope[], fence: Fence | undefined): Place[] {
  return [...new Set(scopes)].map((scope) => {
    const slot = slotOfScope(scope);
    if (!fence || slot === undefined) return { scope, epoch: undefined };
    const epoch = fence.epochOf(slot);
    if (epoch === undefined) throw new NotOwner(slot);
    return { scope, epoch };
  });
}
