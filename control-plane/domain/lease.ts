import type { Lease } from "./records.ts";

/** What an edge asks of an organization's credit. */
export interface LeaseDemand {
  /** What a call needs now; zero for credit in advance only. */
  readonly need: bigint;
  /** The wished amount, the need included. */
  readonly want: bigint;
  /** Leased credit that the edge holds and no call has reserved. */
  readonly free: bigint;
}

/** The part of a lease that is neither settled nor released: credit that is not available elsewhere. */
export function outstandingOf({ granted, settled, released }: Pick<Lease, "granted" | "settled" | "released">): bigint {
  const outstanding = granted - settled - released;
  return outstanding > 0n ? outstanding : 0n;
}

/** An edge that dies locks its advance until the lease expires. The share is small enough for several edges to die at once. */
const SHARES = 16n;

/**
 * How much of the available credit an edge gets. A need is met as far as possible. Advance credit shrinks to zero with what is left, so
 * that near the end no edge holds credit that another one needs. The share bounds the whole advance of an edge, not each request.
 */
export function grantable({ need, want, free }: LeaseDemand, available: bigint): bigint {
  if (available <= 0n) return 0n;
  if (need > available) return available;
  const share = (available + free) / SHARES - free;
  const ahead = want < share ? want : share;
  return ahead > need ? ahead : need;
}
