import type { Clock } from "../../common/clock.ts";
import type { RateState } from "../../common/errors.ts";
import { limitName as nameOf } from "../../common/slots.ts";
import { RateWindow } from "../domain/rate-window.ts";
import type { RateLimits } from "../domain/records.ts";
import { type PermitHold, PermitHolds } from "./permit-holds.ts";
import { type RateKind, type Reading, refusal, tightest, WINDOW_SECONDS } from "./rate-readings.ts";
import { TokenLimits } from "./token-limits.ts";

/** The subject of a limit. A limit applies to all calls of the subject together, over all edges. */
export interface RateSubject {
  readonly kind: RateKind;
  readonly id: string;
  readonly limits: RateLimits;
}

interface Minute {
  readonly requests: RateWindow;
  readonly tokens: RateWindow;
}

// A guess: when a running call ends cannot be known.
const BUSY_SECONDS = 1;
/** A permit is at most this fraction of what remains: other edges need some too, and an edge that dies loses its permit. */
const PERMIT_SHARES = 16;
/** With fewer requests or parallel calls a permit is not worth it, and each call is reserved by itself. */
const PERMIT_CALLS_MIN = 4;
export const PERMIT_LIFE_MS = 1000;

/** A slice of all limits of a call's subjects that an edge may spend by itself. */
export interface RatePermit {
  readonly requests: number;
  /** Undefined: no token limit applies. */
  readonly tokens: number | undefined;
  /** How long it may be used, counted from the request for it. */
  readonly lifeMs: number;
  /** How many of its calls may run at once; undefined: no limit of parallel calls applies. */
  readonly parallel?: number | undefined;
}

/** The permit that an edge asks for. */
export interface AskedPermit {
  readonly requests: number;
  readonly tokens: number;
  /** Absent: the edge does not count parallel calls, so it gets no permit where they are limited. */
  readonly parallel?: number | undefined;
  readonly edgeId?: string | undefined;
}

/** What an edge has not used of a permit. */
export interface UnusedPermit {
  readonly requests: number;
  readonly tokens: number;
  /** Returned since the permit was granted. */
  readonly parallel?: number | undefined;
}

/** Requests, tokens and parallel calls of every subject, in memory. No method awaits, so a check and its count see the same state. */
export class RateLimiter {
  readonly #clock: Clock;
  readonly #minutes = new Map<string, Minute>();
  readonly #running = new Map<string, number>();
  readonly #tokenLimits = new TokenLimits();
  /** By the call that each was granted with, until it no longer counts in any window. */
  readonly #permits = new Map<string, { requests: number; tokens: number; minutes: readonly Minute[]; second: number }>();

  /** Parallel calls of permits; they are among the running ones. */
  readonly #parallel = new PermitHolds((names, calls) => {
    for (const name of names) this.#run(name, -Number(calls));
  });

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Checks a call against the limits of all its subjects; takes nothing. Throws RATE_LIMIT_EXCEEDED for the limit with the longest wait,
   * so that a client that retries after it is not refused by another limit. `others` are limits that another control plane counts.
   */
  check(subjects: readonly RateSubject[], tokens: number, others: readonly Reading[] = []): RateState {
    const readings = [...this.readings(subjects, tokens), ...others];
    const rate = tightest(readings);
    const refusing = readings.reduce<Reading | undefined>(
      (worst, reading) => (reading.waitSeconds > (worst?.waitSeconds ?? 0) ? reading : worst),
      undefined,
    );
    if (refusing) throw refusal(refusing, rate);
    return rate;
  }

  /** Every limit of the subjects as a call would meet it now. */
  readings(subjects: readonly RateSubject[], tokens: number): Reading[] {
    return subjects.flatMap((subject) => this.#read(subject, tokens));
  }

  /**
   * Grants a slice of all limits of the subjects for an edge to spend by itself within a second. The slice counts at once, under the last
   * second in which it may be spent, so that no minute exceeds its limit whenever edges spend it; its parallel calls count as running until
   * the edge returns them. Returns undefined if too little remains; each call is then reserved by itself. `elsewhere` is what other control
   * planes allow.
   */
  permit(callId: string, subjects: readonly RateSubject[], asked: AskedPermit, elsewhere?: RatePermit): RatePermit | undefined {
    this.#parallel.endCall(callId);
    const requests = Math.min(
      elsewhere?.requests ?? asked.requests,
      ...subjects.map((subject) => this.#share(subject, "requests", subject.limits.rpm)),
    );
    const tokens = Math.min(
      elsewhere?.tokens ?? Number.POSITIVE_INFINITY,
      ...subjects.map((subject) => this.#share(subject, "tokens", subject.limits.tpm)),
    );
    const atOnce = Math.min(...subjects.map((subject) => this.#shareOfParallel(subject)));
    const parallel = Number.isFinite(atOnce) ? Math.min(asked.parallel ?? 0, atOnce, requests) : undefined;
    if (Math.min(requests, parallel ?? requests) < PERMIT_CALLS_MIN || tokens < 1) return undefined;
    const counted = { requests, tokens: Math.min(asked.tokens, tokens) };
    const now = this.#clock.monotonicMs();
    const minutes = subjects.filter(isCounted).map((subject) => this.#begunMinute(subject, now));
    const seconds = minutes.map((minute) => {
      minute.tokens.add(counted.tokens, now, 1);
      return minute.requests.add(counted.requests, now, 1);
    });
    this.#permits.set(callId, { ...counted, minutes, second: seconds[0] ?? 0 });
    if (parallel !== undefined) this.#runParallel(callId, subjects, { parallel, edgeId: asked.edgeId });
    return { requests, tokens: Number.isFinite(tokens) ? counted.tokens : undefined, lifeMs: PERMIT_LIFE_MS, parallel };
  }

  /** Returns the unused part of a permit. Of requests and tokens, only the first call has an effect. */
  takeBack(callId: string, unused: UnusedPermit): void {
    this.#parallel.returned(callId, BigInt(unused.parallel ?? 0));
    const permit = this.#permits.get(callId);
    if (!permit) return;
    this.#permits.delete(callId);
    const now = this.#clock.monotonicMs();
    for (const minute of permit.minutes) {
      minute.requests.takeBack(Math.min(unused.requests, permit.requests), permit.second, now);
      minute.tokens.takeBack(Math.min(unused.tokens, permit.tokens), permit.second, now);
    }
  }

  /** Ends the parallel calls of permits that no edge returns any more. */
  endPermits(isOver: (hold: PermitHold) => boolean): void {
    this.#parallel.end(isOver);
  }

  /** Counts an admitted call. `end` with the same subjects ends it. */
  begin(subjects: readonly RateSubject[], tokens: number): void {
    const now = this.#clock.monotonicMs();
    // Running calls are counted for every subject, so that a limit set later applies at once. Windows exist only for limited subjects.
    this.resume(subjects);
    for (const subject of subjects) {
      if (!isCounted(subject)) continue;
      const minute = this.#begunMinute(subject, now);
      minute.requests.add(1, now);
      minute.tokens.add(tokens, now);
    }
  }

  /** The limits of tokens under which calls began that may end now. */
  get tokenLimits(): Pick<TokenLimits, "size" | "models" | "has"> {
    return this.#tokenLimits;
  }

  /** Counts tokens of calls that were admitted before, for each of the names that has a limit. */
  addTokens(names: readonly string[], tokens: number): void {
    const now = this.#clock.monotonicMs();
    for (const name of names) if (this.#tokenLimits.has(name)) this.#minuteOf(name).tokens.add(tokens, now);
  }

  /** Counts calls as running, and not as requests of a minute. */
  resume(subjects: readonly RateSubject[]): void {
    for (const subject of subjects) this.#run(nameOf(subject), 1);
  }

  /** Takes a call that began at a time out of the minute: it was not made. */
  withdraw(subjects: readonly RateSubject[], { tokens, beganMs }: { tokens: number; beganMs: number }): void {
    const now = this.#clock.monotonicMs();
    for (const subject of subjects) {
      const minute = this.#minutes.get(nameOf(subject));
      minute?.requests.takeBack(1, Math.floor(beganMs / 1000), now);
      minute?.tokens.takeBack(tokens, Math.floor(beganMs / 1000), now);
    }
  }

  end(subjects: readonly RateSubject[]): void {
    for (const subject of subjects) this.#run(nameOf(subject), -1);
  }

  /** Drops subjects without calls in the last minute, and permits that no longer count. */
  prune(): void {
    const now = this.#clock.monotonicMs();
    for (const [name, { requests, tokens }] of this.#minutes) {
      if (requests.sum(now) === 0 && tokens.sum(now) === 0) this.#minutes.delete(name);
    }
    this.#tokenLimits.prune(now);
    const oldest = Math.floor(now / 1000) - WINDOW_SECONDS;
    for (const [callId, { second }] of this.#permits) if (second < oldest) this.#permits.delete(callId);
    this.#parallel.prune(now);
  }

  #run(name: string, calls: number): void {
    const running = (this.#running.get(name) ?? 0) + calls;
    if (running > 0) this.#running.set(name, running);
    else this.#running.delete(name);
  }

  #runParallel(callId: string, subjects: readonly RateSubject[], { parallel, edgeId }: Pick<AskedPermit, "parallel" | "edgeId">): void {
    const names = subjects.map(nameOf);
    const organizationId = subjects.find(({ kind }) => kind === "organization")?.id;
    this.#parallel.add(callId, { names, amount: BigInt(parallel ?? 0), organizationId, edgeId }, this.#clock.monotonicMs());
    for (const name of names) this.#run(name, parallel ?? 0);
  }

  #read(subject: RateSubject, tokens: number): Reading[] {
    const { rpm, tpm, maxParallelRequests } = subject.limits;
    const readings: Reading[] = [];
    if (maxParallelRequests !== undefined) {
      const limit = nameOf(subject);
      const remaining = maxParallelRequests - (this.#running.get(limit) ?? 0);
      const waitSeconds = remaining < 1 ? BUSY_SECONDS : 0;
      readings.push({ unit: "parallel", subject: subject.kind, most: maxParallelRequests, waitSeconds, remaining, limit });
    }
    if (rpm !== undefined) readings.push(this.#readMinute(subject, { unit: "requests", most: rpm, amount: 1 }));
    if (tpm !== undefined) readings.push(this.#readMinute(subject, { unit: "tokens", most: tpm, amount: tokens }));
    return readings;
  }

  #readMinute(subject: RateSubject, asked: { unit: "requests" | "tokens"; most: number; amount: number }): Reading {
    const { unit, most } = asked;
    const now = this.#clock.monotonicMs();
    const window = this.#minutes.get(nameOf(subject))?.[unit];
    // A single call above the whole limit is admitted when the minute is empty; otherwise it could never be made.
    const amount = Math.min(asked.amount, most);
    const waitSeconds = window?.secondsUntilFits(amount, most, now) ?? 0;
    const left = Math.max(0, most - (window?.sum(now) ?? 0));
    return { unit, subject: subject.kind, most, waitSeconds, remaining: waitSeconds > 0 ? left : left - amount };
  }

  #share(subject: RateSubject, unit: "requests" | "tokens", most: number | undefined): number {
    if (most === undefined) return Number.POSITIVE_INFINITY;
    const counted = this.#minutes.get(nameOf(subject))?.[unit].sum(this.#clock.monotonicMs()) ?? 0;
    return Math.floor((most - counted) / PERMIT_SHARES);
  }

  #shareOfParallel(subject: RateSubject): number {
    const { maxParallelRequests } = subject.limits;
    if (maxParallelRequests === undefined) return Number.POSITIVE_INFINITY;
    return Math.floor((maxParallelRequests - (this.#running.get(nameOf(subject)) ?? 0)) / PERMIT_SHARES);
  }

  #begunMinute(subject: RateSubject, now: number): Minute {
    const name = nameOf(subject);
    if (subject.limits.tpm !== undefined) this.#tokenLimits.began(name, subject.kind, now);
    return this.#minuteOf(name);
  }

  #minuteOf(name: string): Minute {
    const minute = this.#minutes.get(name) ?? { requests: new RateWindow(), tokens: new RateWindow() };
    this.#minutes.set(name, minute);
    return minute;
  }
}

function isCounted({ limits }: RateSubject): boolean {
  return limits.rpm !== undefined || limits.tpm !== undefined;
}
