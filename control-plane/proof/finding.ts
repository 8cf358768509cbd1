/**
 * What can be wrong with the books.
 * - sequence: an entry is missing; transfer: an entry that does not move one amount between an organisation and the platform
 * - chain: a hash that does not follow; head: the ledger's end is not where its head says; balance: an account is not what its entries say
 * - usage: a call and its entry disagree; content: a call's row was changed; rollup: a chart's sum is not that of its rows
 */
export type FindingKind = "sequence" | "transfer" | "chain" | "head" | "balance" | "usage" | "content" | "rollup";

/** The first thing that is wrong, by name. */
export interface Finding {
  readonly kind: FindingKind;
  /** Zero where no entry is concerned. */
  readonly seq: number;
  /** "entry 7", "account org:...", "call call_...", "roll-up ...". */
  readonly record: string;
  readonly reason: string;
}
