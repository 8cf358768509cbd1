import type { Clock } from "../../common/clock.ts";
import { AppError } from "../../common/errors.ts";
import { organizationAccount } from "../domain/ledger.ts";
import { RateWindow } from "../domain/rate-window.ts";
import type { ApiKey, Team } from "../domain/records.ts";
import { teamState } from "../domain/team-state.ts";
import type { Reader } from "../stores/store.ts";

export interface ReserveInput {
  callId: string;
  keyId: string;
  teamId: string;
  organizationId: string;
  worstCase: bigint;
  tokens: number;
}

/** What one key or team may do in a minute, and what is left of it. */
export interface RateState {
  limitRequests?: number;
  remainingRequests?: number;
  limitTokens?: number;
  remainingTokens?: number;
  resetSeconds: number;
}

interface Reservation extends ReserveInput {
  amount: bigint;
  expiresAt: number;
}

interface Limits {
  name: string;
  rpm: number | undefined;
  tpm: number | undefined;
  parallel: number | undefined;
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
  readonly #byKey = new Map<string, { amount: bigint; calls: number }>();
  readonly #windows = new Map<string, { requests: RateWindow; tokens: RateWindow }>();
  /** Grows whenever a reservation is given back: a balance read before that is stale. */
  #releases = 0;

  constructor(options: { reader: Reader; clock: Clock; policy: "document" | "strict" }) {
    this.#reader = options.reader;
    this.#clock = options.clock;
    this.#policy = options.policy;
  }

  /** Sets a call's worst case aside, or all that is left where the policy allows; refuses with the document's codes. */
  async reserve(input: ReserveInput): Promise<{ reserved: bigint; rate: RateState }> {
    const { team, key, balance, spend } = await this.#read(input);
    // From here on nothing waits: what is checked is what is set aside.
    refuseBlocked(team);
    const limits = limitsOf(team, key);
    const rate = this.#refuseOverRate(limits, input);
    const amount = input.worstCase > 0n ? this.#affordable(input, { balance, spend, maxBudget: key?.maxBudget }) : 0n;
    this.#hold({ ...input, amount, expiresAt: this.#clock.monotonicMs() + LIFE_MS });
    for (const { name } of limits) this.#count(name, input.tokens);
    return { reserved: amount, rate };
  }

  release(callId: string): void {
    const reservation = this.#byCall.get(callId);
    if (!reservation) return;
    this.#byCall.delete(callId);
    this.#releases++;
    const { organizationId, keyId, amount } = reservation;
    const left = (this.#byOrganization.get(organizationId) ?? 0n) - amount;
    const calls = this.#byKey.get(keyId);
    if (left > 0n) this.#byOrganization.set(organizationId, left);
    else this.#byOrganization.delete(organizationId);
    if (calls && calls.calls > 1) this.#byKey.set(keyId, { amount: calls.amount - amount, calls: calls.calls - 1 });
    else this.#byKey.delete(keyId);
  }

  reservedOf(organizationId: string): bigint {
    return this.#byOrganization.get(organizationId) ?? 0n;
  }

  /** Gives back what nobody settled or released in time. Called by the clean-up job. */
  expire(): number {
    const now = this.#clock.monotonicMs();
    const dead = [...this.#byCall.values()].filter((reservation) => reservation.expiresAt <= now);
    for (const { callId } of dead) this.release(callId);
    return dead.length;
  }

  async #read(input: ReserveInput) {
    for (;;) {
      const releases = this.#releases;
      const [team, key, account, use] = await Promise.all([
        this.#reader.get("teams", input.teamId),
        this.#reader.get("keys", input.keyId),
        this.#reader.get("accounts", organizationAccount(input.organizationId)),
        this.#reader.get("keyUses", input.keyId),
      ]);
      // A call settled and released meanwhile: its cost may be missing in the balance we read and in what is reserved.
      if (releases === this.#releases) return { team, key, balance: account?.balance ?? 0n, spend: use?.spend ?? 0n };
    }
  }

  #affordable(input: ReserveInput, state: { balance: bigint; spend: bigint; maxBudget: bigint | undefined }): bigint {
    const available = state.balance - this.reservedOf(input.organizationId);
    if (available <= 0n) {
      throw new AppError("QUOTA_EXCEEDED", "The organization has no credits left. Buy credits to go on.", {
        internal: `balance=${state.balance} reserved=${this.reservedOf(input.organizationId)}`,
      });
    }
    if (this.#policy === "strict" && input.worstCase > available) {
      throw new AppError("QUOTA_EXCEEDED", "The call could cost more than the credits that are left. Buy credits or lower max_tokens.");
    }
    let amount = input.worstCase < available ? input.worstCase : available;
    if (state.maxBudget !== undefined) {
      const left = state.maxBudget - state.spend - (this.#byKey.get(input.keyId)?.amount ?? 0n);
      if (left <= 0n) throw new AppError("QUOTA_EXCEEDED", "The key's budget is used up. Raise its maxBudget or use another key.");
      if (left < amount) amount = left;
    }
    return amount;
  }

  #refuseOverRate(limits: readonly Limits[], input: ReserveInput): RateState {
    let tightest: RateState = { resetSeconds: 0 };
    for (const limit of limits) {
      const running = this.#byKey.get(input.keyId)?.calls ?? 0;
      if (limit.parallel !== undefined && running >= limit.parallel)
        throw rateError(`The key may have ${limit.parallel} call(s) at once.`, 1);
      const requests = this.#roomFor(1, { limit, unit: "requests" });
      const tokens = this.#roomFor(input.tokens, { limit, unit: "tokens" });
      if (requests && requests.remaining < (tightest.remainingRequests ?? Number.POSITIVE_INFINITY)) {
        tightest = { ...tightest, limitRequests: requests.most, remainingRequests: requests.remaining, resetSeconds: 60 };
      }
      if (tokens && tokens.remaining < (tightest.remainingTokens ?? Number.POSITIVE_INFINITY)) {
        tightest = { ...tightest, limitTokens: tokens.most, remainingTokens: tokens.remaining, resetSeconds: 60 };
      }
    }
    return tightest;
  }

  /** What is left of a limit after `amount` more; throws when that does not fit now. Undefined: there is no such limit. */
  #roomFor(amount: number, { limit, unit }: { limit: Limits; unit: "requests" | "tokens" }) {
    const most = unit === "requests" ? limit.rpm : limit.tpm;
    if (most === undefined) return undefined;
    const now = this.#clock.monotonicMs();
    const window = this.#window(limit.name)[unit];
    // A single call above the whole limit is let through when the minute is empty: it could never be made otherwise.
    const asked = Math.min(amount, most);
    const wait = window.secondsUntilFits(asked, most, now);
    const left = Math.max(0, most - window.sum(now));
    if (wait > 0) {
      const owner = limit.name.split(":")[0];
      throw rateError(`The ${owner}'s limit of ${most} ${unit} per minute is reached.`, wait, { [unit]: most, remaining: left });
    }
    return { most, remaining: left - asked };
  }

  #hold(reservation: Reservation): void {
    const { callId, organizationId, keyId, amount } = reservation;
    // The same call again (a lost answer): what it held before is replaced, not doubled.
    this.release(callId);
    this.#byCall.set(callId, reservation);
    this.#byOrganization.set(organizationId, this.reservedOf(organizationId) + amount);
    const calls = this.#byKey.get(keyId);
    this.#byKey.set(keyId, { amount: (calls?.amount ?? 0n) + amount, calls: (calls?.calls ?? 0) + 1 });
  }

  #count(name: string, tokens: number): void {
    const now = this.#clock.monotonicMs();
    const window = this.#window(name);
    window.requests.add(1, now);
    window.tokens.add(tokens, now);
  }

  #window(name: string): { requests: RateWindow; tokens: RateWindow } {
    const window = this.#windows.get(name) ?? { requests: new RateWindow(), tokens: new RateWindow() };
    this.#windows.set(name, window);
    return window;
  }
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

// Only what has a limit is counted: most keys and teams have none.
function limitsOf(team: Team | undefined, key: ApiKey | undefined): Limits[] {
  const limits: Limits[] = [];
  if (key && (key.rpm !== undefined || key.tpm !== undefined || key.maxParallelRequests !== undefined)) {
    limits.push({ name: `key:${key.id}`, rpm: key.rpm, tpm: key.tpm, parallel: key.maxParallelRequests });
  }
  if (team && (team.rpm !== undefined || team.tpm !== undefined)) {
    limits.push({ name: `team:${team.id}`, rpm: team.rpm, tpm: team.tpm, parallel: undefined });
  }
  return limits;
}

interface Reached {
  requests?: number;
  tokens?: number;
  remaining?: number;
}

/** The limit that was reached travels as details, each under the name of the header it becomes at the edge. */
function rateError(message: string, retryAfterSeconds: number, reached: Reached = {}): AppError {
  const kinds = (["requests", "tokens"] as const).filter((kind) => reached[kind] !== undefined);
  const details = kinds.flatMap((kind) => [
    { path: `headers.x-ratelimit-limit-${kind}`, message: String(reached[kind]) },
    { path: `headers.x-ratelimit-remaining-${kind}`, message: String(reached.remaining ?? 0) },
    { path: `headers.x-ratelimit-reset-${kind}`, message: `${retryAfterSeconds}s` },
  ]);
  return new AppError("RATE_LIMIT_EXCEEDED", `${message} Try again in ${retryAfterSeconds} s.`, { retryAfterSeconds, details });
}
