import type { Clock } from "../../common/clock.ts";
import { CALL_MS_MAX } from "./call-life.ts";
import type { RateLimiter, RatePermit, RateSubject } from "./rate-limiter.ts";
import type { Reading } from "./rate-readings.ts";

/** A call of an organization that another control plane owns, with those of its subjects that are counted here. */
export interface CallToCount {
  readonly callId: string;
  readonly subjects: readonly RateSubject[];
  readonly tokens: number;
  readonly ahead?: { readonly requests: number; readonly tokens: number } | undefined;
}

/** How the limits met the call. It is counted if no reading makes it wait. */
export interface CountOutcome {
  readonly readings: readonly Reading[];
  readonly permit?: RatePermit | undefined;
}

/** What the control plane that asked tells later: the call ended, was not made, or left a part of its permit. */
export type ReturnedCall =
  | { readonly callId: string; readonly what: "ended" | "withdrawn" }
  | { readonly callId: string; readonly what: "unused"; readonly requests: number; readonly tokens: number };

interface Counted {
  readonly subjects: readonly RateSubject[];
  readonly tokens: number;
  readonly beganMs: number;
  readonly untilMs: number;
}

/** A call that only counts in a minute can be withdrawn for so long. */
const WITHDRAWN_MS = 60_000;

/**
 * Counts calls that other control planes admit against the limits of models and users whose slot this control plane owns. It shares the
 * limiter with the calls of its own organizations.
 */
export class CountedCalls {
  readonly #rates: RateLimiter;
  readonly #clock: Clock;
  readonly #byName = new Map<string, Counted>();

  constructor(rates: RateLimiter, clock: Clock) {
    this.#rates = rates;
    this.#clock = clock;
  }

  /** Counts a call, or counts nothing if it does not fit. The same call again replaces the first. */
  count(slot: number, { callId, subjects, tokens, ahead }: CallToCount): CountOutcome {
    const name = nameOf(slot, callId);
    const before = this.#byName.get(name);
    if (before) this.#rates.end(before.subjects.filter(isParallel));
    const readings = this.#rates.readings(subjects, tokens);
    if (readings.some(({ waitSeconds }) => waitSeconds > 0)) {
      if (before) this.#rates.resume(before.subjects.filter(isParallel));
      return { readings };
    }
    this.#rates.begin(subjects, tokens);
    // The end of a call is not reported that no limit of parallel calls counts.
    this.#rates.end(subjects.filter((subject) => !isParallel(subject)));
    const now = this.#clock.monotonicMs();
    const untilMs = now + (subjects.some(isParallel) ? CALL_MS_MAX : WITHDRAWN_MS);
    this.#byName.set(name, { subjects, tokens, beganMs: now, untilMs });
    return { readings, permit: ahead && this.#rates.permit(name, subjects, ahead) };
  }

  /** What the control plane that asked tells later. */
  take(slot: number, returned: ReturnedCall): void {
    const name = nameOf(slot, returned.callId);
    if (returned.what === "unused") this.#rates.takeBack(name, returned);
    else this.#over(name, returned.what);
  }

  /** Ends calls of control planes that are gone. */
  expire(): void {
    const now = this.#clock.monotonicMs();
    for (const [name, counted] of this.#byName) if (counted.untilMs <= now) this.#end(name, counted);
  }

  #over(name: string, what: "ended" | "withdrawn"): void {
    const counted = this.#byName.get(name);
    if (!counted) return;
    this.#end(name, counted);
    if (what === "withdrawn") this.#rates.withdraw(counted.subjects, counted);
  }

  #end(name: string, { subjects }: Counted): void {
    this.#byName.delete(name);
    this.#rates.end(subjects.filter(isParallel));
  }
}

const isParallel = ({ limits }: RateSubject) => limits.maxParallelRequests !== undefined;
/** A call may have subjects in two slots of one owner. */
const nameOf = (slot: number, callId: string) => `${slot} ${callId}`;
