import type { Clock } from "../../common/clock.ts";
import { AppError, type RateState } from "../../common/errors.ts";
import { silentLogger } from "../../common/logger.ts";
import { budgetName } from "../domain/budgets.ts";
import type { UsageRow } from "../domain/records.ts";
import type { Reader } from "../stores/store.ts";
import { AnswerCounter } from "./answer-counter.ts";
import { BudgetLimiter, type BudgetOptions, type BudgetState } from "./budget-limiter.ts";
import { type Reserved, type ReserveInput, readCredit, refuseBlocked } from "./call-credit.ts";
import { CALL_MS_MAX } from "./call-life.ts";
import { type CallSubjects, countedCall, isBudgeted, readSubjects } from "./call-subjects.ts";
import { HeldError } from "./ended-calls.ts";
import type { PermitHold } from "./permit-holds.ts";
import { PERMIT_LIFE_MS, RateLimiter, type RatePermit, type RateSubject, type UnusedPermit } from "./rate-limiter.ts";
import type { CountedElsewhere, SharedLimits } from "./shared-limits.ts";
import { add, WithheldCredit } from "./withheld-credit.ts";

interface Reservation extends ReserveInput {
  amount: bigint;
  /** Those that are counted here. */
  subjects: readonly RateSubject[];
  elsewhere: CountedElsewhere | undefined;
  budgets: readonly string[];
  expiresAt: number;
}

/** The growth of a running call counts against no rate limit. */
const UNCOUNTED: RateState = {
  limitRequests: undefined,
  remainingRequests: undefined,
  limitTokens: undefined,
  remainingTokens: undefined,
  resetSeconds: 0,
};

/** How many leases a call waits for before it is refused. */
const WRITTEN_WAITS_MAX = 3;

/** What reservations work with. */
export interface ReservationsOptions {
  readonly reader: Reader;
  readonly clock: Clock;
  readonly policy: "document" | "strict";
  readonly budgets?: Pick<BudgetOptions, "mode" | "logger">;
  /** Throws if another control plane owns the organization: its reservations are there. */
  readonly requireOwner?: (organizationId: string) => void;
  /** Counts the calls of this control plane's organizations; its own if absent. */
  readonly rates?: RateLimiter;
  /** Limits that other control planes count; absent: there is one control plane. */
  readonly shared?: SharedLimits;
  /** The configured name of a deployment's model. */
  readonly modelOf?: (deploymentId: string) => Promise<string | undefined>;
}

/** What a reservation is decided by. */
interface CallState extends Omit<CallSubjects, "budgets"> {
  readonly elsewhere: CountedElsewhere | undefined;
  readonly budgets: readonly BudgetState[];
  readonly balance: bigint;
  readonly leased: bigint;
  readonly beganMs: number;
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
  readonly #shared: SharedLimits | undefined;
  readonly #answers: AnswerCounter;
  /** Leases that are being written. They need no check against each other: the store serializes their transactions. */
  readonly #leasing = new WithheldCredit();
  /** Incremented whenever a reservation is released: a balance that was read before is stale. */
  #releases = 0;

  constructor(options: ReservationsOptions) {
    this.#requireOwner = options.requireOwner ?? (() => {});
    this.#reader = options.reader;
    this.#clock = options.clock;
    this.#policy = options.policy;
    this.#rates = options.rates ?? new RateLimiter(options.clock);
    this.#shared = options.shared;
    this.#answers = new AnswerCounter(this.#rates, options.modelOf ?? (async () => undefined));
    this.#budgets = new BudgetLimiter({ clock: options.clock, mode: "enforce", logger: silentLogger, ...options.budgets });
  }

  /** Reserves a call's worst case, or all that is left if the policy allows it. */
  async reserve(input: ReserveInput): Promise<Reserved> {
    const beganMs = this.#clock.monotonicMs();
    const model = await this.#reader.find("models", "byName", [input.model]);
    let releases = this.#releases;
    const [found, first] = await Promise.all([
      readSubjects(this.#reader, input, model),
      readCredit(this.#reader, this.#clock, input, model),
    ]);
    const divided = input.isGrowth ? undefined : this.#shared?.divide(found.subjects);
    const elsewhere = divided?.elsewhere && (await this.#shared?.count(countedCall(input, found), divided.elsewhere));
    try {
      let credit = first;
      for (let waits = 0; ; waits++) {
        // A call was settled and released in between: its cost may be missing in both the balance and the reservations.
        while (releases !== this.#releases) {
          releases = this.#releases;
          credit = await readCredit(this.#reader, this.#clock, input, model);
        }
        const { balance, leased, budgetsOf } = credit;
        const subjects = divided?.here ?? found.subjects;
        try {
          return this.#reserveNow(input, { ...found, subjects, elsewhere, balance, leased, budgets: budgetsOf(found.budgets), beganMs });
        } catch (refused) {
          if (waits === WRITTEN_WAITS_MAX || !this.#isWithheld(refused, input)) throw refused;
          await this.#leasing.written(input.organizationId);
        }
      }
    } catch (refused) {
      elsewhere?.withdraw();
      throw refused;
    }
  }

  /** A lease that is being written withholds all that it was requested for, which may be more than it gets. */
  #isWithheld(refused: unknown, { organizationId }: ReserveInput): boolean {
    return this.#leasing.of(organizationId) > 0n && refused instanceof AppError && refused.code === "QUOTA_EXCEEDED";
  }

  /** Nothing here awaits: the checked state is the state that is reserved from, and a refusal takes nothing. */
  #reserveNow(input: ReserveInput, state: CallState): Reserved {
    const { team, subjects, elsewhere, budgets } = state;
    this.#requireOwner(input.organizationId);
    refuseBlocked(team);
    if (input.isGrowth) return this.#grow(input, state);
    // The same call again, after a lost answer: its reservation is replaced, not doubled.
    const before = this.#byCall.get(input.callId);
    if (before) this.#drop(before);
    try {
      const rate = this.#rates.check(subjects, input.tokens, elsewhere?.readings);
      const amount = input.worstCase > 0n ? this.#affordable(input, state) : 0n;
      const names = budgets.map(({ kind, id }) => budgetName(kind, id));
      this.#hold({ ...input, amount, subjects, elsewhere, budgets: names, expiresAt: this.#clock.monotonicMs() + CALL_MS_MAX });
      return { reserved: amount, rate, permit: this.#permit(input, state) };
    } catch (refused) {
      // The call may be running: its earlier reservation stays.
      if (before) this.#hold(before);
      throw refused;
    }
  }

  /** Returns the unused part of the permit that came with a call. */
  takeBack(callId: string, unused: UnusedPermit): void {
    this.#rates.takeBack(callId, unused);
    this.#shared?.takeBack(callId, unused);
  }

  /** Calls count as their prompts when they are admitted; with the settlement they count as their answers too. */
  countAnswers(rows: readonly UsageRow[]): void {
    if (this.#rates.tokenLimits.size > 0) this.#answers.count(rows, (callId) => this.#byCall.get(callId));
  }

  release(callId: string): void {
    const reservation = this.#byCall.get(callId);
    if (!reservation) return;
    this.#drop(reservation);
    reservation.elsewhere?.end();
  }

  /** Forgets reservations of organizations that another control plane owns by now. Rate windows stay: the calls in them were made. */
  forget(isLost: (organizationId: string) => boolean): void {
    for (const { callId, organizationId } of [...this.#byCall.values()]) if (isLost(organizationId)) this.release(callId);
    this.#endPermits(({ organizationId }) => organizationId !== undefined && isLost(organizationId));
  }

  /** Edges that are dead: none of their calls runs any more. */
  endEdges(edgeIds: readonly string[]): void {
    if (edgeIds.length === 0) return;
    const isDead = ({ edgeId }: { readonly edgeId?: string | undefined }) => edgeId !== undefined && edgeIds.includes(edgeId);
    this.#endPermits(isDead);
    for (const reservation of [...this.#byCall.values()]) if (isDead(reservation)) this.release(reservation.callId);
  }

  #endPermits(isOver: (hold: PermitHold) => boolean): void {
    this.#rates.endPermits(isOver);
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
    const done = this.#leasing.hold(organizationId, amount);
    return () => {
      // A balance that was read before does not include the lease.
      this.#releases++;
      done();
    };
  }

  /** Releases reservations that were neither settled nor released in time. Called by the clean-up job. */
  expire(): number {
    const now = this.#clock.monotonicMs();
    const dead = [...this.#byCall.values()].filter((reservation) => reservation.expiresAt <= now);
    for (const { callId } of dead) this.release(callId);
    this.#rates.prune();
    this.#shared?.prune();
    return dead.length;
  }

  /** Adds to what the call holds, or starts a reservation if the first one was lost with a control plane. */
  #grow(input: ReserveInput, state: CallState): Reserved {
    const amount = this.#affordable(input, state);
    const known = this.#byCall.get(input.callId);
    const names = known?.budgets ?? state.budgets.map(({ kind, id }) => budgetName(kind, id));
    const before = known ?? {
      ...input,
      amount: 0n,
      subjects: [],
      elsewhere: undefined,
      budgets: names,
      expiresAt: this.#clock.monotonicMs() + CALL_MS_MAX,
    };
    this.#byCall.set(input.callId, { ...before, amount: before.amount + amount });
    add(this.#byOrganization, input.organizationId, amount);
    this.#budgets.begin(names, amount);
    return { reserved: amount, rate: UNCOUNTED };
  }

  /**
   * Grants no permit under a budget: what a call may spend then depends on every other call. Nor after a long wait for the store: the permit's
   * life is over, and an edge that waits no more would not return it.
   */
  #permit({ callId, ahead }: ReserveInput, { subjects, elsewhere, budgets, beganMs }: CallState): RatePermit | undefined {
    if (!ahead || isBudgeted(budgets)) return undefined;
    if (this.#clock.monotonicMs() - beganMs >= PERMIT_LIFE_MS) {
      elsewhere?.grant(undefined);
      return undefined;
    }
    if (!elsewhere) return this.#rates.permit(callId, subjects, ahead);
    const permit = elsewhere.permit && this.#rates.permit(callId, subjects, ahead, elsewhere.permit);
    elsewhere.grant(permit);
    return permit;
  }

  #affordable(input: ReserveInput, state: CallState): bigint {
    const taken = this.#takenOf(input.organizationId);
    const available = state.balance - taken;
    const isTooLarge = this.#policy === "strict" && input.worstCase > available;
    if (available <= 0n || isTooLarge) {
      const message =
        available <= 0n
          ? "The organization has no credits left. Buy credits to go on."
          : "The call could cost more than the credits that are left. Buy credits or lower max_tokens.";
      const internal = `balance=${state.balance} leased=${state.leased} reserved=${taken}`;
      if (taken === 0n && state.leased === 0n) throw new AppError("QUOTA_EXCEEDED", message, { internal });
      throw new HeldError("QUOTA_EXCEEDED", message, { internal, holder: "leases" });
    }
    return this.#budgets.affordable(input.worstCase < available ? input.worstCase : available, state.budgets);
  }

  #takenOf(organizationId: string): bigint {
    return this.reservedOf(organizationId) + this.#leasing.of(organizationId);
  }

  #drop({ callId, organizationId, budgets, amount, subjects }: Reservation): void {
    this.#byCall.delete(callId);
    this.#releases++;
    add(this.#byOrganization, organizationId, -amount);
    this.#budgets.end(budgets, amount);
    this.#rates.end(subjects);
  }

  #hold(reservation: Reservation): void {
    const { callId, organizationId, budgets, amount, subjects, tokens } = reservation;
    this.#byCall.set(callId, reservation);
    add(this.#byOrganization, organizationId, amount);
    this.#budgets.begin(budgets, amount);
    this.#rates.begin(subjects, tokens);
  }
}
