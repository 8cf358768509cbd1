import type { RateState } from "../../common/errors.ts";
import type { UsageLog } from "../../proto/gen/tributary/usage/v1/usage.ts";
import type { JournalFigures } from "./journal/journal.ts";
import type { Intent, Progress, ServedRecord } from "./journal/records.ts";
import type { LeaseFigures } from "./lease-book.ts";

/** A call that asks for credit. */
export interface ReserveInput {
  /** The call's intent record: who calls which model, and the most the call can cost. */
  readonly intent: Intent;
  /** The requested model group, by its configured name. Its limits apply beside the caller's. */
  readonly model: string;
  /** Tokens that count against a rate limit. */
  readonly tokens: number;
  /** The caller or the model has a limit or a budget: the control plane reserves for this call alone. */
  readonly isLimited: boolean;
  /** No rate limit counts it: it is part of a call that is counted. Credit and budgets apply. */
  readonly isUncounted?: true | undefined;
}

/** Credit that is reserved for one call, and the state of its rate limits. */
export interface Reservation {
  /** The worst case, or the remaining credit where that is less. */
  readonly reserved: bigint;
  readonly rate: RateState | undefined;
}

/**
 * Credit of organizations, as one call sees it. Every successful `reserve` is followed by exactly one `settle`; a failed `reserve` needs
 * nothing more.
 */
export interface Credit {
  /**
   * Throws QUOTA_EXCEEDED, TEAM_BLOCKED, RATE_LIMIT_EXCEEDED, or UNAVAILABLE when the control plane does not answer or the journal cannot
   * be written.
   */
  reserve(input: ReserveInput): Reservation | Promise<Reservation>;
  /** A running call needs more credit than it holds. Returns the amount it got, which may be zero. While the lease has enough, no RPC is made. */
  grow(input: ReserveInput, more: bigint): Promise<bigint>;
  /** The deployment that answers a call, its prices, and what is delivered so far. A call is billed by these if this process dies during it. */
  served(served: ServedRecord): void;
  progress(progress: Progress): void;
  /** Writes the final record of a call durably. From then on the call reaches the ledger exactly once, whatever process dies. */
  settle(log: UsageLog): Promise<void>;
  /** The organization's credit was revoked: credit that no call has reserved is returned at once. */
  recall(organizationId: string): void;
  /** Settlements that the ledger does not have yet. */
  pending(): number;
  /** Resolves when the ledger has every call that has ended, or every call of one organization. */
  settled(organizationId?: string): Promise<void>;
  /** Why no call can be accepted now; undefined when calls can be accepted. */
  trouble(): string | undefined;
  /** Figures of this edge's journal. */
  journal(): JournalFigures;
  /** Figures of this edge's leases. */
  leases(): LeaseFigures;
  /** Called after the last call: ships the remaining finals to the ledger and returns the leases. */
  close(): Promise<void>;
}
