import type { RateState } from "../../common/errors.ts";
import type { UsageLog } from "../../proto/gen/tributary/usage/v1/usage.ts";
import type { JournalFigures } from "./journal/journal.ts";
import type { Intent, Progress, ServedRecord } from "./journal/records.ts";

export interface ReserveInput {
  /** Who calls for what, and the most it can cost: what is written down of the call before it is made. */
  readonly intent: Intent;
  /** The group asked for, as it is configured: its limits hold beside the caller's. */
  readonly model: string;
  /** Tokens that count against a rate limit. */
  readonly tokens: number;
  /** Somebody who has to do with the call has a limit or a budget: it is asked for by itself. */
  readonly isLimited: boolean;
}

export interface Reservation {
  /** The worst case, or all that was left. */
  readonly reserved: bigint;
  readonly rate: RateState | undefined;
}

/**
 * Credit of organisations, as one call sees it. Every successful `reserve` is followed by exactly one `settle`; a
 * `reserve` that failed needs nothing more.
 */
export interface Credit {
  /** Throws QUOTA_EXCEEDED, TEAM_BLOCKED, RATE_LIMIT_EXCEEDED, or UNAVAILABLE when nobody can say or nothing can be written down. */
  reserve(input: ReserveInput): Reservation | Promise<Reservation>;
  /** A running call needs more than it holds. Gives what it got, down to nothing; asks nobody while the lease has enough. */
  grow(input: ReserveInput, more: bigint): Promise<bigint>;
  /** Who answers it, at what prices, and what was delivered so far: what a call costs if this process dies in it. */
  served(served: ServedRecord): void;
  progress(progress: Progress): void;
  /** Writes the end of a call down, for good: from then on it comes into the ledger, once, whatever dies. */
  settle(log: UsageLog): Promise<void>;
  /** The organisation's credit was taken away: what no call has set aside goes back at once. */
  recall(organizationId: string): void;
  /** Settlements that the ledger does not have yet. */
  pending(): number;
  /** Resolves when the ledger has every call that has ended. */
  settled(): Promise<void>;
  /** Why no call can be taken now; undefined: none. */
  trouble(): string | undefined;
  /** Of the calls that were written down here. */
  journal(): JournalFigures;
  /** After the last call: brings what is left to the ledger, gives leases back. */
  close(): Promise<void>;
}
