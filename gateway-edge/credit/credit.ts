import type { RateState } from "../../common/errors.ts";
import type { UsageLog } from "../../proto/gen/tributary/usage/v1/usage.ts";

export interface ReserveInput {
  readonly callId: string;
  readonly keyId: string;
  readonly teamId: string;
  readonly organizationId: string;
  /** Who made the key. */
  readonly userId: bigint | undefined;
  /** The group asked for, as it is configured. */
  readonly model: string;
  /** The most this call can cost; zero for a call that costs nothing. */
  readonly worstCase: bigint;
  /** Tokens that count against a rate limit. */
  readonly tokens: number;
}

export interface Reservation {
  /** The worst case, or all that was left. */
  readonly reserved: bigint;
  readonly rate: RateState | undefined;
}

/**
 * Credit of organisations, as one call sees it. Every successful `reserve` is followed by exactly one `settle`; a
 * `reserve` that failed needs nothing more. A call that costs nothing because nobody was asked settles without a reservation.
 */
export interface Credit {
  /** Throws QUOTA_EXCEEDED, TEAM_BLOCKED, RATE_LIMIT_EXCEEDED, or UNAVAILABLE when nobody can say. */
  reserve(input: ReserveInput): Promise<Reservation>;
  /**
   * Puts a finished call into the ledger, once, however often it has to be tried. Resolves when the ledger has it, or
   * when a client has waited long enough: then it goes on in the background, and nothing is lost while this process lives.
   */
  settle(log: UsageLog): Promise<void>;
  /** Gives back what a call reserved and never used; repeated until told so or given up. */
  release(callId: string): void;
  /** Settlements that the ledger does not have yet. */
  pending(): number;
  /** Resolves when there are none. */
  drained(): Promise<void>;
}
