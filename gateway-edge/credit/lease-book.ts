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

/** For operators. */
export interface LeaseFigures {
  /** Organizations that have a lease which calls may use. */
  readonly usable: number;
  /** Of all leases together: calls of the next seconds can reserve this without an RPC. */
  readonly free: bigint;
  /** Reserved by running calls. */
  readonly held: bigint;
  /** Calls that wait for credit of the control plane. */
  readonly waiting: number;
}

/** Longer than a busy control plane needs to answer: a shorter deadline would only refuse the calls that wait for credit. */
const LEASE_MS = 3000;
/** All leases are looked at this often for those that are over: there may be many thousands. */
const FORGET_EVERY_MS = 10_000;

interface Waiting {
  readonly worstCase: bigint;
  resolve(held: Held): void;
  reject(error: unknown): void;
}

interface LeaseEntry {
  readonly account: LeaseAccount;
  /** Calls that found too little credit, in order of arrival. */
  readonly waiting: Waiting[];
  requesting: boolean;
  isStrict: boolean;
  isBlocked: boolean;
  askedAtMs: number;
  /** What the control plane knows that was returned, of which generation. */
  returned: Pick<LeaseReturn, "generation" | "released">;
  /** The free credit when the control plane last granted less than was requested; undefined: it granted everything. */
  mostGiven: bigint | undefined;
}

/** The leases of this edge, one for each organization that makes calls. In steady state a call needs no RPC. */
export class LeaseBook {
  readonly #deps: LeaseBookDeps;
  readonly #entries = new Map<string, LeaseEntry>();
  /** Those that may have free credit, or returns that the control plane does not know: of many organizations, few call at a time. */
  readonly #active = new Set<LeaseEntry>();
  #forgetAtMs = Number.NEGATIVE_INFINITY;

  constructor(deps: LeaseBookDeps) {
    this.#deps = deps;
  }

  /** Reserves the worst case, or the remaining credit where the policy allows; throws QUOTA_EXCEEDED when there is none. */
  reserve(organizationId: string, worstCase: bigint): Held | Promise<Held> {
    const nowMs = this.#deps.clock.monotonicMs();
    const entry = this.#entryOf(organizationId);
    const { account } = entry;
    this.#active.add(entry);
    account.wanted(worstCase, nowMs);
    // Waiting calls are served in order of arrival.
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

  /** Free credit is returned at once, and the next message reports it; the next call requests credit again. Calls that wait need what is free. */
  recall(organizationId: string): void {
    const entry = this.#entries.get(organizationId);
    if (!entry) return;
    entry.account.forgetDemand();
    if (entry.waiting.length === 0) entry.account.release(this.#deps.clock.monotonicMs());
  }

  /** No more calls come: all free credit is more than is needed, and the next message returns it. */
  forgetDemand(): void {
    for (const { account } of this.#active) account.forgetDemand();
  }

  settle(organizationId: string, held: Held, cost: bigint): void {
    this.#entries.get(organizationId)?.account.settle(held, cost);
  }

  /**
   * Returns credit that is free above the demand of the next seconds. Each message has the total ever returned, and it is repeated until
   * `acknowledge`, so that a lost message costs nothing. Organizations that are not asked for keep their free credit: nothing would report it.
   */
  returns(isAsked?: (organizationId: string) => boolean): LeaseReturn[] {
    const nowMs = this.#deps.clock.monotonicMs();
    const returns: LeaseReturn[] = [];
    for (const entry of this.#active) {
      const { account, waiting } = entry;
      if (isAsked && !isAsked(account.organizationId)) continue;
      if (waiting.length === 0) account.release(nowMs);
      // An expired lease is not reported: the control plane would renew it.
      if (isUnreported(entry) && account.isUsable(nowMs)) {
        returns.push({ organizationId: account.organizationId, generation: account.generation, released: account.released });
      }
    }
    return returns;
  }

  /** The control plane has these returns. */
  acknowledge(returns: readonly LeaseReturn[]): void {
    for (const { organizationId, generation, released } of returns) {
      const entry = this.#entries.get(organizationId);
      if (entry) entry.returned = { generation, released };
    }
  }

  /** Nothing can be returned or has to be renewed. */
  get isAtRest(): boolean {
    return this.#active.size === 0;
  }

  /** The organizations of which credit could be returned, now or after their running calls. */
  *organizations(): Generator<string> {
    for (const { account } of this.#active) yield account.organizationId;
  }

  figures(): LeaseFigures {
    const nowMs = this.#deps.clock.monotonicMs();
    let [usable, free, held, waits] = [0, 0n, 0n, 0];
    for (const { account, waiting } of this.#entries.values()) {
      waits += waiting.length;
      held += account.held;
      if (account.generation === 0n || !account.isUsable(nowMs)) continue;
      usable++;
      free += account.free(nowMs);
    }
    return { usable, free, held, waiting: waits };
  }

  /** Whether credit could be returned now. */
  hasExcess(): boolean {
    const nowMs = this.#deps.clock.monotonicMs();
    for (const { account } of this.#active) if (account.hasExcess(nowMs)) return true;
    return false;
  }

  /** Renews leases with running calls; deletes those of organizations that make no more calls. */
  renew(olderThanMs: number): void {
    const nowMs = this.#deps.clock.monotonicMs();
    this.#renewActive(nowMs, olderThanMs);
    if (nowMs < this.#forgetAtMs) return;
    this.#forgetAtMs = nowMs + FORGET_EVERY_MS;
    for (const [organizationId, entry] of this.#entries) {
      // An active one may be asking for its first lease.
      if (!this.#active.has(entry) && entry.account.isOver(nowMs)) this.#entries.delete(organizationId);
    }
  }

  #renewActive(nowMs: number, olderThanMs: number): void {
    for (const entry of this.#active) {
      if (entry.waiting.length > 0 || entry.requesting) continue;
      if (!entry.account.isIdle(nowMs)) {
        if (nowMs - entry.askedAtMs > olderThanMs) void this.#ask(entry);
      } else if (!isUnreported(entry) || !entry.account.isUsable(nowMs)) this.#active.delete(entry);
    }
  }

  async #ask(entry: LeaseEntry): Promise<void> {
    if (entry.requesting) return;
    entry.requesting = true;
    try {
      // Calls that arrived during the request may need another one.
      do await this.#askOnce(entry);
      while (entry.waiting.length > 0);
    } finally {
      entry.requesting = false;
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
    const { generation, released } = account;
    try {
      const answer = await this.#deps.access.lease(
        {
          edgeId: this.#deps.edgeId,
          organizationId: account.organizationId,
          need: withinInt64(need),
          want: withinInt64(ahead > need ? ahead : need),
          generation,
          released,
          free: left > 0n ? left : 0n,
        },
        { deadlineMs: LEASE_MS },
      );
      entry.isStrict = answer.isStrict;
      entry.isBlocked = answer.isBlocked;
      entry.askedAtMs = askedAtMs;
      entry.returned = { generation, released };
      account.grant(answer, askedAtMs);
      entry.mostGiven = account.left(askedAtMs) < left + ahead ? account.free(askedAtMs) : undefined;
    } catch (thrown) {
      const error = asAppError(thrown);
      for (const { reject } of entry.waiting.splice(0, asked)) reject(error);
      return;
    }
    this.#serve(entry, asked);
  }

  /** The calls that the request counted get the available credit, in order; calls that find none are refused. */
  #serve({ account, waiting, isStrict, isBlocked }: LeaseEntry, asked: number): void {
    const nowMs = this.#deps.clock.monotonicMs();
    for (const { worstCase, resolve, reject } of waiting.splice(0, asked)) {
      const free = account.free(nowMs);
      const isEnough = free >= worstCase;
      const given = isEnough || !isStrict ? smaller(worstCase, free) : 0n;
      // Demand is what calls got: a call that requests more than there is does not raise the demand for later calls.
      account.wanted(given - worstCase, nowMs);
      if (given > 0n || isEnough) resolve(account.hold(given));
      // The lease response reports a blocked team before the feed does.
      else reject(isBlocked ? teamBlocked({ reason: "quota" }) : quotaExceeded(isStrict && free > 0n));
    }
    // Calls that arrived meanwhile are served as soon as possible; otherwise later calls would wait behind them without end under load.
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
      requesting: false,
      isStrict: false,
      isBlocked: false,
      askedAtMs: Number.NEGATIVE_INFINITY,
      returned: { generation: 0n, released: 0n },
      mostGiven: undefined,
    };
    this.#entries.set(organizationId, entry);
    return entry;
  }
}

/** Whether credit was returned of which the control plane does not know. */
function isUnreported({ account: { generation, released }, returned }: LeaseEntry): boolean {
  return released > (returned.generation === generation ? returned.released : 0n);
}

/**
 * Half of the target is used up. Where the control plane granted less, half of that: a request with every call would not get more, and each
 * request is a transaction of the control plane.
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
