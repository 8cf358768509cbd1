import type { Clock } from "../../common/clock.ts";
import { AppError, type RateState } from "../../common/errors.ts";
import { silentLogger } from "../../common/logger.ts";
import { teamBlocked } from "../../common/team-blocked.ts";
import type { Budget, BudgetKind } from "../domain/budget-records.ts";
import { budgetName, spentOf } from "../domain/budgets.ts";
import { organizationAccount } from "../domain/ledger.ts";
import { rateLimitsOf } from "../domain/rate-limits.ts";
import type { Model, RateLimits, Team } from "../domain/records.ts";
import { teamState } from "../domain/team-state.ts";
import type { Reader } from "../stores/store.ts";
import { leasedOf } from "../writes/leases.ts";
import { BudgetLimiter, type BudgetOptions, type BudgetState } from "./budget-limiter.ts";
import { RateLimiter, type RatePermit, type RateSubject } from "./rate-limiter.ts";

/** A call that asks for credit. */
export interface ReserveInput {
  callId: string;
  keyId: string;
  teamId: string;
  organizationId: string;
  /** The creator of the key; undefined for keys without one. */
  userId?: number | undefined;
  /** The requested model group. */
  model: string;
  worstCase: bigint;
  tokens: number;
  /** The call is running already: the worst case is added to what it holds, and no rate limit counts it again. */
  isGrowth?: boolean | undefined;
  /** The permit that the edge asks for beside this call. */
  ahead?: { requests: number; tokens: number } | undefined;
}

/** What was granted to a call. */
export interface Reserved {
  readonly reserved: bigint;
  readonly rate: RateState;
  readonly permit?: RatePermit | undefined;
}

interface Reservation extends ReserveInput {
  amount: bigint;
  subjects: readonly RateSubject[];
  budgets: readonly string[];
  expiresAt: number;
}

// Longer than any call may take. The reservation of an edge that died is released after it.
const LIFE_MS = 15 * 60 * 1000;

/** The growth of a running call counts against no rate limit. */
const UNCOUNTED: RateState = {
  limitRequests: undefined,
  remainingRequests: undefined,
  limitTokens: undefined,
  remainingTokens: undefined,
  resetSeconds: 0,
};

/** What reservations work with. */
export interface ReservationsOptions {
  readonly reader: Reader;
  readonly clock: Clock;
  readonly policy: "document" | "strict";
  readonly budgets?: Pick<BudgetOptions, "mode" | "logger">;
  /** Throws if another control plane owns the organization: its reservations are there. */
  readonly requireOwner?: (organizationId: string) => void;
}

/**
 * Credit held by running calls, in memory; the store has only what is settled. This class covers calls that are reserved one by one.
 * All other calls run under leases, whose outstanding credit counts as taken here.
 */
export class Reservations {
  readonly #reader: Reader;
  readonly #clock: Clock;
  readonly #requireOwner: (organizationId: string) => void;
  readonly #policy: "document" | "strict";
  readonly #byCall = new Map<string, Reservation>();
  readonly #byOrganization = new Map<string, bigint>();
  readonly #budgets: BudgetLimiter;
  readonly #rates: RateLimiter;
  /** Leases that are being written. They need no check against each other: the store serializes their transactions. */
  readonly #leasing = new Map<string, bigint>();
  /** Incremented whenever a reservation is released: a balance that was read before is stale. */
  #releases = 0;

  constructor(options: ReservationsOptions) {
    this.#requireOwner = options.requireOwner ?? (() => {});
    this.#reader = options.reader;
    this.#clock = options.clock;
    this.#policy = options.policy;
    this.#rates = new RateLimiter(options.clock);
    this.#budgets = new BudgetLimiter({ clock: options.clock, mode: "enforce", logger: silentLogger, ...options.budgets });
  }

  /** Reserves a call's worst case, or all that is left if the policy allows it. */
  async reserve(input: ReserveInput): Promise<Reserved> {
    const { team, subjects, budgets, balance } = await this.#read(input);
    // Nothing below awaits: the checked state is the state that is reserved from, and a refusal takes nothing.
    this.#requireOwner(input.organizationId);
    refuseBlocked(team);
    if (input.isGrowth) return this.#grow(input, { budgets, balance });
    // The same call again, after a lost answer: its reservation is replaced, not doubled.
    const before = this.#byCall.get(input.callId);
    this.release(input.callId);
    try {
      const rate = this.#rates.check(subjects, input.tokens);
      const amount = input.worstCase > 0n ? this.#affordable(input, { balance, budgets }) : 0n;
      const names = budgets.map(({ kind, id }) => budgetName(kind, id));
      this.#hold({ ...input, amount, subjects, budgets: names, expiresAt: this.#clock.monotonicMs() + LIFE_MS });
      return { reserved: amount, rate, permit: this.#permit(input, { subjects, budgets }) };
    } catch (refused) {
      // The call may be running: its earlier reservation stays.
      if (before) this.#hold(before);
      throw refused;
    }
  }

  /** Returns the unused part of the permit that came with a call. */
  takeBack(callId: string, unused: { requests: number; tokens: number }): void {
    this.#rates.takeBack(callId, unused);
  }

  release(callId: string): void {
    const reservation = this.#byCall.get(callId);
    if (!reservation) return;
    this.#byCall.delete(callId);
    this.#releases++;
    const { organizationId, budgets, amount, subjects } = reservation;
    add(this.#byOrganization, organizationId, -amount);
    this.#budgets.end(budgets, amount);
    this.#rates.end(subjects);
  }

  /** Forgets reservations of organizations that another control plane owns by now. Rate windows stay: the calls in them were made. */
  forget(isLost: (organizationId: string) => boolean): void {
    for (const { callId, organizationId } of [...this.#byCall.values()]) if (isLost(organizationId)) this.release(callId);
  }

  /** How many calls hold a reservation. */
  get size(): number {
    return this.#byCall.size;
  }

  reservedOf(organizationId: string): bigint {
    return this.#byOrganization.get(organizationId) ?? 0n;
  }

  /** Withholds credit from calls until the returned function is called, while a lease on it is being written. */
  withhold(organizationId: string, amount: bigint): () => void {
    add(this.#leasing, organizationId, amount);
    return () => {
      add(this.#leasing, organizationId, -amount);
      // A balance that was read before does not include the lease.
      this.#releases++;
    };
  }

  /** Releases reservations that were neither settled nor released in time. Called by the clean-up job. */
  expire(): number {
    const now = this.#clock.monotonicMs();
    const dead = [...this.#byCall.values()].filter((reservation) => reservation.expiresAt <= now);
    for (const { callId } of dead) this.release(callId);
    this.#rates.prune();
    return dead.length;
  }

  /** Adds to what the call holds, or starts a reservation if the first one was lost with a control plane. */
  #grow(input: ReserveInput, state: { budgets: readonly BudgetState[]; balance: bigint }): Reserved {
    const amount = this.#affordable(input, state);
    const known = this.#byCall.get(input.callId);
    const names = known?.budgets ?? state.budgets.map(({ kind, id }) => budgetName(kind, id));
    const before = known ?? { ...input, amount: 0n, subjects: [], budgets: names, expiresAt: this.#clock.monotonicMs() + LIFE_MS };
    this.#byCall.set(input.callId, { ...before, amount: before.amount + amount });
    add(this.#byOrganization, input.organizationId, amount);
    this.#budgets.begin(names, amount);
    return { reserved: amount, rate: UNCOUNTED };
  }

  /** Grants no permit under a budget: what a call may spend then depends on every other call. */
  #permit(
    { callId, ahead }: ReserveInput,
    { subjects, budgets }: { subjects: readonly RateSubject[]; budgets: readonly BudgetState[] },
  ): RatePermit | undefined {
    if (!ahead || budgets.some(({ budget: { maxBudget } }) => maxBudget !== undefined)) return undefined;
    return this.#rates.permit(callId, subjects, ahead);
  }

  async #read(input: ReserveInput) {
    const model = await this.#reader.find("models", "byName", [input.model]);
    let releases = this.#releases;
    const [subjects, first] = await Promise.all([this.#readSubjects(input, model), this.#readCredit(input, model)]);
    let credit = first;
    // A call was settled and released in between: its cost may be missing in both the balance and the reservations.
    while (releases !== this.#releases) {
      releases = this.#releases;
      credit = await this.#readCredit(input, model);
    }
    return { team: subjects.team, subjects: subjects.subjects, balance: credit.balance, budgets: credit.budgetsOf(subjects.budgets) };
  }

  async #readCredit(input: ReserveInput, model: Model | undefined) {
    const { organizationId, keyId } = input;
    const [account, use, leased, uses] = await Promise.all([
      this.#reader.get("accounts", organizationAccount(organizationId)),
      this.#reader.get("keyUses", keyId),
      leasedOf(this.#reader, organizationId, this.#clock.now()),
      this.#reader.getMany("budgetUses", budgetNames(input, model)),
    ]);
    const known = new Map(uses.flatMap((each) => (each ? [[each.id, each] as const] : [])));
    const budgetsOf = (budgets: readonly Omit<BudgetState, "spend">[]): BudgetState[] =>
      budgets.map((each) => {
        // A key's budget without a period applies to everything the key ever spent.
        const isTotal = each.kind === "key" && each.budget.budgetPeriod === undefined;
        const spent = spentOf(known.get(budgetName(each.kind, each.id)), this.#clock.now());
        return { ...each, spend: isTotal ? (use?.spend ?? 0n) : spent };
      });
    return { balance: (account?.balance ?? 0n) - leased, budgetsOf };
  }

  async #readSubjects({ keyId, teamId, organizationId, userId, model: modelName }: ReserveInput, model: Model | undefined) {
    const [key, team, organization, user] = await Promise.all([
      this.#reader.get("keys", keyId),
      this.#reader.get("teams", teamId),
      this.#reader.get("organizations", organizationId),
      userId === undefined ? undefined : this.#reader.get("users", userId),
    ]);
    const subjects: RateSubject[] = [
      subject("key", keyId, key),
      subject("team", teamId, team),
      subject("organization", organizationId, organization),
      ...(userId === undefined ? [] : [subject("user", String(userId), user)]),
      subject("model", modelName, model),
    ];
    const budgets = [
      budget("key", keyId, key),
      budget("team", teamId, team),
      budget("organization", organizationId, organization),
      ...(userId === undefined ? [] : [budget("user", String(userId), user)]),
      ...(model ? [budget("model", model.id, model)] : []),
    ];
    return { team, subjects, budgets };
  }

  #affordable(input: ReserveInput, state: { balance: bigint; budgets: readonly BudgetState[] }): bigint {
    const available = state.balance - this.#takenOf(input.organizationId);
    if (available <= 0n) {
      throw new AppError("QUOTA_EXCEEDED", "The organization has no credits left. Buy credits to go on.", {
        internal: `balance=${state.balance} reserved=${this.#takenOf(input.organizationId)}`,
      });
    }
    if (this.#policy === "strict" && input.worstCase > available) {
      throw new AppError("QUOTA_EXCEEDED", "The call could cost more than the credits that are left. Buy credits or lower max_tokens.");
    }
    return this.#budgets.affordable(input.worstCase < available ? input.worstCase : available, state.budgets);
  }

  #takenOf(organizationId: string): bigint {
    return this.reservedOf(organizationId) + (this.#leasing.get(organizationId) ?? 0n);
  }

  #hold(reservation: Reservation): void {
    const { callId, organizationId, budgets, amount, subjects, tokens } = reservation;
    this.#byCall.set(callId, reservation);
    add(this.#byOrganization, organizationId, amount);
    this.#budgets.begin(budgets, amount);
    this.#rates.begin(subjects, tokens);
  }
}

function add(sums: Map<string, bigint>, name: string, amount: bigint): void {
  const sum = (sums.get(name) ?? 0n) + amount;
  if (sum > 0n) sums.set(name, sum);
  else sums.delete(name);
}

function subject(kind: RateSubject["kind"], id: string, record: RateLimits | undefined): RateSubject {
  return { kind, id, limits: rateLimitsOf(record ?? {}) };
}

function budget(kind: BudgetKind, id: string, record: Budget | undefined): Omit<BudgetState, "spend"> {
  return { kind, id, budget: record ?? {} };
}

function budgetNames({ keyId, teamId, organizationId, userId }: ReserveInput, model: Model | undefined): string[] {
  return [
    budgetName("key", keyId),
    budgetName("team", teamId),
    budgetName("organization", organizationId),
    ...(userId === undefined ? [] : [budgetName("user", userId)]),
    ...(model ? [budgetName("model", model.id)] : []),
  ];
}

function refuseBlocked(team: Team | undefined): void {
  if (!team) throw new AppError("INVALID_API_KEY", "The team of this API key was deleted. Use another key.");
  const state = teamState(team);
  if (state.status === "blocked") throw teamBlocked({ reason: state.reason });
}
