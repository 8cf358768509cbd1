import { slotOf } from "../../common/slots.ts";
import { NotOwner } from "../domain/not-owner.ts";
import type { Slots } from "./slots.ts";

/**
 * Throws unless this control plane owns the organization: what it has in memory, and what edges have reported to it, is then complete. The
 * call is forwarded to the owner, so a handler does this before it changes anything.
 */
export function requireOwner({ slots }: { readonly slots: Pick<Slots, "count" | "isOwned"> }, organizationId: string): void {
  const slot = slotOf(organizationId, slots.count);
  if (!slots.isOwned(slot)) throw new NotOwner(slot);
}
