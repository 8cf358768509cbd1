import type { Lease } from "./records.ts";

export interface LeaseAsk {
  /** What a call needs now; zero when it is only asked ahead. */
  readonly need: bigint;
  /** What would be good to have, the need included. */
  readonly want: bigint;
  /** What the edge holds already and no call has. */
  readonly free: bigint;
}

/** What of a lease is neither spent nor given back: credit that nobody else may have. */
export function outstandingOf({ granted, settled, released }: Pick<Lease, "granted" | "settled" | "released">): bigint {
  const outstanding = granted - settled - released;
  return outstanding > 0n ? outstanding : 0n;
}

/** An edge that dies takes what it holds in advance with it for a while: a share small enough that several may die at once. */
const SHARES = 16n;

/**
 * How much of what is available an edge gets. A need is met as far as it can be; what is asked ahead shrinks towards zero with what is
 * left, so that near the end no edge sits on credit that another needs. The share bounds all that it has in advance, not each asking.
 */
export function grantable({ need, want, free }: LeaseAsk, available: bigint): bigint {
  if (available <= 0n) return 0n;
  if (need > available) return available;
  const share = (available + free) / SHARES - free;
  const ahead = want < share ? want : share;
  return ahead > need ? ahead : need;
}
