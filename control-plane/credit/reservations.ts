import type { Clock } from "../../common/clock.ts";
import { AppError, type RateState } from "../../common/errors.ts";
import { organizationAccount } from "../domain/ledger.ts";
import { rateLimitsOf } from "../domain/rate-limits.ts";
import type { RateLimits, Team } from "../domain/records.ts";
import { teamState } from "../domain/team-state.ts";
import type { Reader } from "../stores/store.ts";
import { leasedOf } from "../writes/leases.ts";
import { RateLimiter, type RateSubject } from "./rate-limiter.ts";

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
}

interface Reservation extends ReserveInput {
  amount: bigint;
  subjects: readonly RateSubject[];
  expiresAt: number;
}

// Longer than any call may take. A reservation whose edge died is given back after it.
const LIFE_MS = 15 * 60 * 1000;

/**
 * What running calls have set aside, in memory: the store holds only what is settled. Every call goes through the one control
 * plane, so `available` is exact over all edges; leases will move this to the edges.
 */
export class Reservations {
  readonly #reader: Reader;
  readonly #clock: Clock;
  readonly #policy: "document" | "strict";
  readonly #byCall = new Map<string, Reservation>();
  readonly #byOrganization = new Map<string, bigint>();
  readonly #byKey = new Map<string, bigint>();
  readonly #rates: RateLimiter;
  /** Leases on their way into the store. They do not stand in each other's way: the store takes them one after the other. */
  readonly #leasing = new Map<string, bigint>();
  /** Grows whenever a reservation is given back: a balance read before that is stale. */
  #releases = 0;

  constructor(options: { reader: Reader; clock: Clock; policy: "document" | "strict" }) {
    this.#reader = options.reader;
    this.#clock = options.clock;
    this.#policy = options.policy;
    this.#rates = new RateLimiter(options.clock);
  }

  /** Sets a call's worst case aside, or all that is left where the policy allows; refuses with the document's codes. */
  async reserve(input: ReserveInput): Promise<{ reserved: bigint; rate: RateState }> {
    const { team, subjects, maxBudget, balance, spend } = await this.#read(input);
    // From here on nothing waits: what is checked is what is set aside, and a refusal of one takes nothing from another.
    refuseBlocked(team);
    // The same call again (a lost answer): what it held before is replaced, not doubled.
    this.release(input.callId);
    const rate = this.#rates.check(subjects, input.tokens);
    const amount = input.worstCase > 0n ? this.#affordable(input, { balance, spend, maxBudget }) : 0n;
    this.#hold({ ...input, amount, subjects, expiresAt: this.#clock.monotonicMs() + LIFE_MS });
    return { reserved: amount, rate };
  }

  release(callId: string): void {
    const reservation = this.#byCall.get(callId);
    if (!reservation) return;
    this.#byCall.delete(callId);
    this.#releases++;
    const { organizationId, keyId, amount, subjects } = reservation;
    add(this.#byOrganization, organizationId, -amount);
    add(this.#byKey, keyId, -amount);
    this.#rates.end(subjects);
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

  async #read(input: ReserveInput) {
    let releases = this.#releases;
    const [subjects, first] = await Promise.all([this.#readSubjects(input), this.#readCredit(input)]);
    let credit = first;
    // A call settled and released meanwhile: its cost may be missing in the balance we read and in what is reserved.
    while (releases !== this.#releases) {
      releases = this.#releases;
      credit = await this.#readCredit(input);
    }
    return { ...subjects, ...credit };
  }

  async #readCredit({ organizationId, keyId }: ReserveInput) {
    const [account, use, leased] = await Promise.all([
      this.#reader.get("accounts", organizationAccount(organizationId)),
      this.#reader.get("keyUses", keyId),
      leasedOf(this.#reader, organizationId, this.#clock.now()),
    ]);
    return { balance: (account?.balance ?? 0n) - leased, spend: use?.spend ?? 0n };
  }

  async #readSubjects({ keyId, teamId, organizationId, userId, model: modelName }: ReserveInput) {
    const [key, team, organization, user, model] = await Promise.all([
      this.#reader.get("keys", keyId),
      this.#reader.get("teams", teamId),
      this.#reader.get("organizations", organizationId),
      userId === undefined ? undefined : this.#reader.get("users", userId),
      this.#reader.find("models", "byName", [modelName]),
    ]);
    const subjects: RateSubject[] = [
      subject("key", keyId, key),
      subject("team", teamId, team),
      subject("organization", organizationId, organization),
      ...(userId === undefined ? [] : [subject("user", String(userId), user)]),
      subject("model", modelName, model),
    ];
    return { team, subjects, maxBudget: key?.maxBudget };
  }

  #affordable(input: ReserveInput, state: { balance: bigint; spend: bigint; maxBudget: bigint | undefined }): bigint {
    const available = state.balance - this.#takenOf(input.organizationId);
    if (available <= 0n) {
      throw new AppError("QUOTA_EXCEEDED", "The organization has no credits left. Buy credits to go on.", {
        internal: `balance=${state.balance} reserved=${this.#takenOf(input.organizationId)}`,
      });
    }
    if (this.#policy === "strict" && input.worstCase > available) {
      throw new AppError("QUOTA_EXCEEDED", "The call could cost more than the credits that are left. Buy credits or lower max_tokens.");
    }
    let amount = input.worstCase < available ? input.worstCase : available;
    if (state.maxBudget !== undefined) {
      const left = state.maxBudget - state.spend - (this.#byKey.get(input.keyId) ?? 0n);
      if (left <= 0n) throw new AppError("QUOTA_EXCEEDED", "The key's budget is used up. Raise its maxBudget or use another key.");
      if (left < amount) amount = left;
    }
    return amount;
  }

  #takenOf(organizationId: string): bigint {
    return this.reservedOf(organizationId) + (this.#leasing.get(organizationId) ?? 0n);
  }

  #hold(reservation: Reservation): void {
    const { callId, organizationId, keyId, amount, subjects, tokens } = reservation;
    this.#byCall.set(callId, reservation);
    add(this.#byOrganization, organizationId, amount);
    add(this.#byKey, keyId, amount);
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

function refuseBlocked(team: Team | undefined): void {
  if (!team) throw new AppError("INVALID_API_KEY", "The key's team is gone.");
  const state = teamState(team);
  if (state.status !== "blocked") return;
  throw new AppError(
    "TEAM_BLOCKED",
    state.reason === "quota"
      ? "The team is blocked: the organization's balance is below zero. Buy credits to go on."
      : "The team was blocked by an administrator.",
  );
}
