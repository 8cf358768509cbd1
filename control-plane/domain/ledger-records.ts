import type { EntryType } from "./records.ts";

/** The heads of slots that changed since the anchor before, so that the order between slots is known to the second. Never changed. */
export interface Anchor {
  /** 1, 2, 3, ... */
  id: number;
  /** The hash of the anchor before. */
  previous: string;
  at: number;
  heads: readonly (readonly [slot: number, seq: number, hash: string])[];
  /** SHA-256 over the fields above. */
  hash: string;
}

/** The state of the whole ledger at a moment up to which it was verified, so that a later check can begin there. Never changed. */
export interface Checkpoint {
  /** 1, 2, 3, ... */
  id: number;
  /** The hash of the checkpoint before. */
  previous: string;
  at: number;
  /** How many slots the store had. */
  slots: number;
  /** The newest anchor, from before the heads were read. */
  anchor: number;
  anchorHash: string;
  /** How many entries all chains had, with the closed one. */
  entries: number;
  /** Heads of the slots with entries. */
  heads: readonly (readonly [slot: number, seq: number, hash: string])[];
  accountsHash: string;
  /** SHA-256 over the fields above. */
  hash: string;
}

/** A payment to an organization of another slot that has left the paying slot. */
export interface OutboxRow {
  /** The payment's reference: that of the entry that arrives. */
  id: string;
  type: EntryType;
  fromOrganizationId: string;
  toOrganizationId: string;
  amount: bigint;
  createdAt: number;
}
