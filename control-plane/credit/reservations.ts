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

export interface ReserveInput {
  callId: string;
  keyId: string;
  teamId: string;
  organizationId: string;
  /** Who made the key; undefined where nobody did. */
  userId?: number | undefined;
  /** The group asked for. */
  model: string;
  worstCase: bigint;
  tokens: number;
  /** The call runs already: the worst case is what it needs beside what it holds, and no rate limit counts it again. */
  isGrowth?: boolean | undefined;
  /** What an edge would like to have of the rate limits beside this call. */
  ahead?: { requests: number; tokens: number } | undefined;
}

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

// Longer than any call may take. A reservation whose edge died is given back after it.
const LIFE_MS = 15 * 60 * 1000;

/** A growth counts against no limit. */
const UNCOUNTED: RateState = {
  limitRequests: undefined,
  remainingRequests: undefined,
  limitTokens: undefined,
  remainingTokens: undefined,
  resetSeconds: 0,
};

/**
 * What running calls have set aside, in memory: the store holds only what is settled. Here are the
 * calls that are asked for by themselves; the others are made under leases, which count as taken here.
 */
export class Reservations {
  readonly #reader: Reader;
  readonly #clock: Clock;
  readonly #policy: "document" | "strict";
  readonly #byCall = new Map<string, Reservation>();
  readonly #byOrganization = new Map<string, bigint>();
  readonly #budgets: BudgetLimiter;
  readonly #rates: RateLimiter;
  /** Leases on their way into the store. They do not stand in each other's way: the store takes them one after the other. */
  readonly #leasing = new Map<string, bigint>();
  /** Grows whenever a reservation is given back: a balance read before that is stale. */
  #releases = 0;

  constructor(options: { reader: Reader; clock: Clock; policy: "document" | "strict"; budgets?: Pick<BudgetOptions, "mode" | "logger"> }) {
    this.#reader = options.reader;
    this.#clock = options.clock;
    this.#policy = options.policy;
    this.#rates = new RateLimiter(options.clock);
    this.#budgets = new BudgetLimiter({ clock: options.clock, mode: "enforce", logger: silentLogger, ...options.budgets });
  }

  /** Sets a call's worst case aside, or all that is left where the policy allows; refuses with the document's codes. */
  async reserve(input: ReserveInput): Promise<Reserved> {
    const { team, subjects, budgets, balance } = await this.#read(input);
    // From here on nothing waits: what is checked is what is set aside, and a refusal of one takes nothing from another.
    refuseBlocked(team);
    if (input.isGrowth) return this.#grow(input, { budgets, balance });
    // The same call again (a lost answer): what it held before is replaced, not doubled.
    const before = this.#byCall.get(input.callId);
    this.release(input.callId);
    try {
      const rate = this.#rates.check(subjects, input.tokens);
      const amount = input.worstCase > 0n ? this.#affordable(input, { balance, budgets }) : 0n;
      const names = budgets.map(({ kind, id }) => budgetName(kind, id));
      this.#hold({ ...input, amount, subjects, budgets: names, expiresAt: this.#clock.monotonicMs() + LIFE_MS });
      return { reserved: amount, rate, permit: this.#permit(input, { subjects, budgets }) };
    } catch (refused) {
      // The call may be running: what it was given stays its own.
      if (before) this.#hold(before);
      throw refused;
    }
  }

  /** What an edge did not use of the permit that came with a call. */
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

  /** How many calls hold one. */
  get size(): number {
    return this.#byCall.size;
  }

  reservedOf(organizationId: string): bigint {
    return this.#byOrganization.get(organizationId) ?? 0n;
  }

  /** Keeps credit from calls until the returned function is called: a lease on it is on its way into the store. */
  keepFree(organizationId: string, amount: bigint): () => void {
    add(this.#leasing, organizationId, amount);
    return () => {
      add(this.#leasing, organizationId, -amount);
      // What was read before does not show the lease.
      this.#releases++;
    };
  }

  /** Gives back what nobody settled or released in time. Called by the clean-up job. */
  expire(): number {
    const now = this.#clock.monotonicMs();
    const dead = [...this.#byCall.values()].filter((reservation) => reservation.expiresAt <= now);
    for (const { callId } of dead) this.release(callId);
    this.#rates.prune();
    return dead.length;
  }

  /** Held beside what the call holds; as a call of its own where the one that it had was lost with a control plane. */
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

  /** Of who has a budget every call is asked for: what it may spend depends on what the others spend. */
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
    // A call settled and released meanwhile: its cost may be missing in the balance we read and in what is reserved.
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
        // A key's budget without a period is held against all that the key ever spent.
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
  if (!team) throw new AppError("INVALID_API_KEY", "The key's team is gone.");
  const state = teamState(team);
  if (state.status === "blocked") throw teamBlocked({ reason: state.reason });
}
