/**
 * Kinds of faults in the ledger and the usage log.
 * - sequence: an entry is missing; transfer: an entry does not move one amount between an organization and the platform
 * - chain: a hash does not follow; head: the head is not the last entry; balance: an account differs from its entries
 * - checkpoint: a checkpoint is missing or changed, or differs from the entries before it
 * - anchor: an anchor is missing or changed, or names an entry that its slot does not have
 * - transit: an amount left a slot and did not arrive in another, or the other way round
 * - usage: a call and its entry differ; content: a usage row was changed; rollup: a roll-up differs from its rows
 */
export type FaultKind =
  | "sequence"
  | "transfer"
  | "chain"
  | "head"
  | "balance"
  | "anchor"
  | "checkpoint"
  | "transit"
  | "usage"
  | "content"
  | "rollup";

/** The first fault that was found. */
export interface LedgerFault {
  readonly kind: FaultKind;
  /** The entry; zero if no entry is concerned. */
  readonly seq: number;
  /** "entry 7", "account org:...", "call call_...", "roll-up ...", "checkpoint 7". */
  readonly record: string;
  readonly reason: string;
}
