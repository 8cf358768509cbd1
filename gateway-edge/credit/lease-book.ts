import type { Clock } from "../../common/clock.ts";
import { AppError, asAppError } from "../../common/errors.ts";
import { withinInt64 } from "../../common/money.ts";
import { teamBlocked } from "../../common/team-blocked.ts";
import type { LeaseReturn } from "../../proto/gen/tributary/access/v1/access.ts";
import type { ControlPlane } from "../access/clients/control-plane.ts";
import { type Held, LeaseAccount } from "./lease-account.ts";

export interface LeaseBookDeps {
  readonly access: Pick<ControlPlane["access"], "lease">;
  readonly clock: Clock;
  readonly edgeId: string;
}

/** Longer than a control plane takes that has much to do: who waits for credit would only be refused. */
const LEASE_MS = 3000;

interface Waiting {
  readonly worstCase: bigint;
  resolve(held: Held): void;
  reject(error: unknown): void;
}

interface LeaseEntry {
  readonly account: LeaseAccount;
  /** Calls that found too little, in the order they came. */
  readonly waiting: Waiting[];
  asking: boolean;
  isStrict: boolean;
  isBlocked: boolean;
  askedAtMs: number;
  /** What was free when the control plane last gave less than was wanted; undefined: it gave all. */
  mostGiven: bigint | undefined;
}

/** The leases of this edge, one for each organisation that calls. In steady state a call is answered from memory. */
export class LeaseBook {
  readonly #deps: LeaseBookDeps;
  readonly #entries = new Map<string, LeaseEntry>();

  constructor(deps: LeaseBookDeps) {
    this.#deps = deps;
  }

  /** Sets the worst case aside, or all that is left where the policy allows; QUOTA_EXCEEDED when there is nothing. */
  reserve(organizationId: string, worstCase: bigint): Held | Promise<Held> {
    const nowMs = this.#deps.clock.monotonicMs();
    const entry = this.#entryOf(organizationId);
    const { account } = entry;
    account.wanted(worstCase, nowMs);
    // Whoever came first and waits is served first.
    if (entry.waiting.length === 0 && account.free(nowMs) >= worstCase) {
      const held = account.hold(worstCase);
      if (runsLow(entry, nowMs)) void this.#ask(entry);
      return held;
    }
    return new Promise((resolve, reject) => {
      entry.waiting.push({ worstCase, resolve, reject });
      void this.#ask(entry);
    });
  }

  /** What is free goes back at once, and is told with the next message; the next call asks. */
  recall(organizationId: string): void {
    const account = this.#entries.get(organizationId)?.account;
    account?.forgetDemand();
    account?.release(this.#deps.clock.monotonicMs());
  }

  settle(organizationId: string, held: Held, cost: bigint): void {
    this.#entries.get(organizationId)?.account.settle(held, cost);
  }

  /** What is free above what the next seconds take, given back. All that was ever given back is told, so that a lost message costs nothing. */
  returns(): LeaseReturn[] {
    const nowMs = this.#deps.clock.monotonicMs();
    const returns: LeaseReturn[] = [];
    for (const { account, waiting } of this.#entries.values()) {
      if (waiting.length === 0) account.release(nowMs);
      // One that ran out is not told any more: hearing of it, the control plane would keep it alive.
      if (account.generation > 0n && account.isUsable(nowMs)) {
        returns.push({ organizationId: account.organizationId, generation: account.generation, released: account.released });
      }
    }
    return returns;
  }

  /** Whether something could be given back now. */
  hasExcess(): boolean {
    const nowMs = this.#deps.clock.monotonicMs();
    return [...this.#entries.values()].some(({ account }) => account.hasExcess(nowMs));
  }

  /** Keeps leases alive under which calls run; forgets those of organisations that do not call any more. */
  renew(olderThanMs: number): void {
    const nowMs = this.#deps.clock.monotonicMs();
    for (const [organizationId, entry] of this.#entries) {
      if (entry.waiting.length > 0 || entry.asking) continue;
      if (entry.account.isOver(nowMs)) this.#entries.delete(organizationId);
      else if (!entry.account.isIdle(nowMs) && nowMs - entry.askedAtMs > olderThanMs) void this.#ask(entry);
    }
  }

  async #ask(entry: LeaseEntry): Promise<void> {
    if (entry.asking) return;
    entry.asking = true;
    try {
      // Calls that came while an answer was on its way may need another one.
      do await this.#askOnce(entry);
      while (entry.waiting.length > 0);
    } finally {
      entry.asking = false;
    }
  }

  async #askOnce(entry: LeaseEntry): Promise<void> {
    const { account } = entry;
    const askedAtMs = this.#deps.clock.monotonicMs();
    const asked = entry.waiting.length;
    const left = account.left(askedAtMs);
    const missing = entry.waiting.reduce((sum, { worstCase }) => sum + worstCase, 0n) - left;
    const need = missing > 0n && asked > 0 ? missing : 0n;
    const ahead = account.target(askedAtMs) - left;
    try {
      const answer = await this.#deps.access.lease(
        {
          edgeId: this.#deps.edgeId,
          organizationId: account.organizationId,
          need: withinInt64(need),
          want: withinInt64(ahead > need ? ahead : need),
          generation: account.generation,
          released: account.released,
          free: left > 0n ? left : 0n,
        },
        { deadlineMs: LEASE_MS },
      );
      entry.isStrict = answer.isStrict;
      entry.isBlocked = answer.isBlocked;
      entry.askedAtMs = askedAtMs;
      account.grant(answer, askedAtMs);
      entry.mostGiven = account.left(askedAtMs) < left + ahead ? account.free(askedAtMs) : undefined;
    } catch (thrown) {
      const error = asAppError(thrown);
      for (const { reject } of entry.waiting.splice(0, asked)) reject(error);
      return;
    }
    this.#serve(entry, asked);
  }

  /** Those that were counted in the asking get what there is, in order; who finds nothing is refused. */
  #serve({ account, waiting, isStrict, isBlocked }: LeaseEntry, asked: number): void {
    const nowMs = this.#deps.clock.monotonicMs();
    for (const { worstCase, resolve, reject } of waiting.splice(0, asked)) {
      const free = account.free(nowMs);
      const isEnough = free >= worstCase;
      const given = isEnough || !isStrict ? smaller(worstCase, free) : 0n;
      // Demand is what calls got: one that wants more than there is does not make the edge want that for the calls after it.
      account.wanted(given - worstCase, nowMs);
      if (given > 0n || isEnough) resolve(account.hold(given));
      // A blocked team is known here before the change of it has come.
      else reject(isBlocked ? teamBlocked({ reason: "quota" }) : quotaExceeded(isStrict && free > 0n));
    }
    // Those that came meanwhile wait no longer than they have to: else under load the next ones would wait behind them for ever.
    for (let next = waiting[0]; next && account.free(nowMs) >= next.worstCase; next = waiting[0]) {
      waiting.shift();
      next.resolve(account.hold(next.worstCase));
    }
  }

  #entryOf(organizationId: string): LeaseEntry {
    const known = this.#entries.get(organizationId);
    if (known) return known;
    const entry: LeaseEntry = {
      account: new LeaseAccount(organizationId),
      waiting: [],
      asking: false,
      isStrict: false,
      isBlocked: false,
      askedAtMs: Number.NEGATIVE_INFINITY,
      mostGiven: undefined,
    };
    this.#entries.set(organizationId, entry);
    return entry;
  }
}

/**
 * Half of what should be free is used up. Where less could be had, half of that: to ask again with every call would not bring more, and
 * each asking is a transaction of the control plane.
 */
function runsLow({ account, mostGiven }: LeaseEntry, nowMs: number): boolean {
  const target = account.target(nowMs);
  return account.free(nowMs) < (mostGiven === undefined ? target : smaller(mostGiven, target)) / 2n;
}

function smaller(left: bigint, right: bigint): bigint {
  return left < right ? left : right;
}

function quotaExceeded(isTooLarge: boolean): AppError {
  return new AppError(
    "QUOTA_EXCEEDED",
    isTooLarge
      ? "The call could cost more than the credits that are left. Buy credits or lower max_tokens."
      : "The organization has no credits left. Buy credits to go on.",
  );
}
