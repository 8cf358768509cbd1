import type { RateState } from "../../common/errors.ts";
import type { RatePermit } from "../../proto/gen/tributary/access/v1/access.ts";

/** What calls of one second used. */
export interface Demand {
  requests: number;
  tokens: number;
  /** The most calls that ran at once under a permit. */
  parallel: number;
}

interface PermitOptions {
  /** The call that brought it. */
  readonly callId: string;
  readonly organizationId: string;
  readonly granted: RatePermit;
  /** The rate limits without the permit. */
  readonly rate: RateState;
  readonly untilMs: number;
}

/** A slice of the rate limits of one key and model that this edge spends by itself. */
export class Permit {
  readonly callId: string;
  readonly organizationId: string;
  readonly untilMs: number;
  readonly #rate: RateState;
  readonly #requests: number;
  /** Undefined: there is no limit on tokens. */
  readonly #tokens: number | undefined;
  /** How many of its calls may run at once; undefined: there is no limit. */
  readonly #parallel: number | undefined;
  #takenRequests = 0;
  #takenTokens = 0;
  #running = 0;
  #isReported = false;
  #reportedParallel = 0;

  constructor({ callId, organizationId, granted, rate, untilMs }: PermitOptions) {
    this.callId = callId;
    this.organizationId = organizationId;
    this.untilMs = untilMs;
    this.#rate = rate;
    this.#requests = Number(granted.requests);
    this.#tokens = granted.tokens === undefined ? undefined : Number(granted.tokens);
    this.#parallel = granted.parallel;
  }

  /** Parallel calls are limited: each call is reported with `end`. */
  get isParallel(): boolean {
    return this.#parallel !== undefined;
  }

  hasRoom(tokens: number): boolean {
    if (this.#takenRequests >= this.#requests) return false;
    if (this.#tokens !== undefined && this.#takenTokens + tokens > this.#tokens) return false;
    return this.#parallel === undefined || this.#running < this.#parallel;
  }

  /** Only after `hasRoom`. */
  take(tokens: number, demand: Demand): void {
    this.#takenRequests++;
    this.#takenTokens += tokens;
    if (!this.isParallel) return;
    this.#running++;
    if (this.#running > demand.parallel) demand.parallel = this.#running;
  }

  /** The call was not made after all. */
  putBack(tokens: number): void {
    this.#takenRequests--;
    this.#takenTokens -= tokens;
    this.end();
  }

  /** A call that was made has ended. */
  end(): void {
    if (this.isParallel) this.#running--;
  }

  /** As the control plane would report it: its last state minus what this edge has used since. */
  rate(): RateState {
    const { limitRequests, limitTokens, remainingRequests, remainingTokens, resetSeconds } = this.#rate;
    return {
      limitRequests,
      limitTokens,
      resetSeconds,
      remainingRequests: remainingRequests === undefined ? undefined : Math.max(0, remainingRequests - this.#takenRequests),
      remainingTokens: remainingTokens === undefined ? undefined : Math.max(0, remainingTokens - this.#takenTokens),
    };
  }

  /** Nothing can be returned, now or later. */
  isSpent(): boolean {
    return !this.isParallel && this.#takenRequests >= this.#requests;
  }

  /** What the control plane has to know of a permit that is not used any more: requests and tokens once, each end of parallel calls. */
  report(): RatePermit | undefined {
    const parallel = this.#parallel === undefined ? undefined : this.#parallel - this.#running;
    if (this.#isReported && (parallel ?? 0) <= this.#reportedParallel) return undefined;
    const isFirst = !this.#isReported;
    this.#isReported = true;
    this.#reportedParallel = parallel ?? 0;
    const requests = isFirst ? this.#requests - this.#takenRequests : 0;
    const tokens = isFirst && this.#tokens !== undefined ? this.#tokens - this.#takenTokens : 0;
    return { requests: BigInt(requests), tokens: BigInt(tokens), lifeMs: 0, parallel };
  }

  /** A report was lost: parallel calls are reported again. Requests and tokens that are not returned are missing for a minute only. */
  reportAgain(): void {
    this.#reportedParallel = 0;
  }

  /** Whether nothing is left to report after this report. */
  isReturnedWith({ parallel }: RatePermit): boolean {
    return this.#parallel === undefined || (parallel ?? 0) >= this.#parallel;
  }
}
