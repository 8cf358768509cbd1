import { crc32 } from "node:zlib";

/**
 * The slot of an organization, of `slots` slots. Everything of an organization belongs to its slot, and a slot has one owner at a time, so
 * that no two control planes write the same documents. Edges compute it too, to ask the owner. The result must never change for a store
 * that has data.
 */
export function slotOf(organizationId: string, slots: number): number {
  return slots === 1 ? 0 : crc32(organizationId) % slots;
}

/**
 * The name of a model or user whose limits several organizations share. The slot of this name is the slot that counts them, as if it were an
 * organization.
 */
export function limitName({ kind, id }: { readonly kind: string; readonly id: string }): string {
  return `${kind}:${id}`;
}
