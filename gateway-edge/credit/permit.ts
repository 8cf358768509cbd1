import type { RateState } from "../../common/errors.ts";
import type { RatePermit } from "../../proto/gen/tributary/access/v1/access.ts";
import type { ReserveInput } from "./credit.ts";

/** What calls of one second used. */
export interface Demand {
  requests: number;
  tokens: number;
  /** The most calls that ran at once under a permit. */
  parallel: number;
  /** The sum of what they could cost. */
  budget: bigint;
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

/** A slice of the rate limits and budgets of one key and model that this edge spends by itself. */
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
  /** What its calls may cost together; undefined: there is no budget. */
  readonly #budget: bigint | undefined;
  #takenRequests = 0;
  #takenTokens = 0;
  #running = 0;
  /** What running calls can cost, and ended calls have cost. */
  #takenBudget = 0n;
  /** The same without calls that the ledger has. */
  #heldBudget = 0n;
  #isReported = false;
  #reportedParallel = 0;
  #reportedBudget = 0n;

  constructor({ callId, organizationId, granted, rate, untilMs }: PermitOptions) {
    this.callId = callId;
    this.organizationId = organizationId;
    this.untilMs = untilMs;
    this.#rate = rate;
    this.#requests = Number(granted.requests);
    this.#tokens = granted.tokens === undefined ? undefined : Number(granted.tokens);
    this.#parallel = granted.parallel;
    this.#budget = granted.budget;
  }

  /** A call holds parallel calls or budget until its `end`, and its cost until `settled`. */
  get isHeld(): boolean {
    return this.#parallel !== undefined || this.#budget !== undefined;
  }

  get isBudgeted(): boolean {
    return this.#budget !== undefined;
  }

  /** Room for one call; undefined: there is none. */
  take(input: ReserveInput, demand: Demand): PermittedCall | undefined {
    const { tokens } = input;
    const { worstCase } = input.intent;
    if (!this.#hasRoom(tokens, worstCase)) return undefined;
    this.#takenRequests++;
    this.#takenTokens += tokens;
    if (this.isHeld) this.#hold(worstCase, 1);
    if (this.#running > demand.parallel) demand.parallel = this.#running;
    return new PermittedCall(this, this.#rateNow(), { tokens, worstCase });
  }

  putBack({ tokens, worstCase }: Taken): void {
    this.#takenRequests--;
    this.#takenTokens -= tokens;
    if (this.isHeld) this.#hold(-worstCase, -1);
  }

  end({ worstCase }: Taken, cost: bigint): void {
    this.#hold(cost - worstCase, -1);
  }

  settled(cost: bigint): void {
    this.#heldBudget -= cost;
  }

  /** Nothing can be returned, now or later. */
  isSpent(): boolean {
    return !this.isHeld && this.#takenRequests >= this.#requests;
  }

  /**
   * What the control plane has to know of a permit that is not used any more: requests and tokens once, parallel calls and budget whenever
   * more of them was returned.
   */
  report(): RatePermit | undefined {
    const parallel = this.#parallel === undefined ? undefined : this.#parallel - this.#running;
    const budget = this.#budget === undefined ? undefined : atLeastZero(this.#budget - this.#heldBudget);
    const isFirst = !this.#isReported;
    if (!isFirst && (parallel ?? 0) <= this.#reportedParallel && (budget ?? 0n) <= this.#reportedBudget) return undefined;
    this.#isReported = true;
    this.#reportedParallel = parallel ?? 0;
    this.#reportedBudget = budget ?? 0n;
    const requests = isFirst ? this.#requests - this.#takenRequests : 0;
    const tokens = isFirst && this.#tokens !== undefined ? this.#tokens - this.#takenTokens : 0;
    return { requests: BigInt(requests), tokens: BigInt(tokens), lifeMs: 0, parallel, budget };
  }

  /** A report was lost: what calls held is reported again. Requests and tokens that are not returned are missing for a minute only. */
  reportAgain(): void {
    this.#reportedParallel = 0;
    this.#reportedBudget = 0n;
  }

  /** Whether nothing is left to report after this report. */
  isReturnedWith({ parallel = 0, budget = 0n }: RatePermit): boolean {
    return parallel >= (this.#parallel ?? 0) && budget >= (this.#budget ?? 0n);
  }

  #hasRoom(tokens: number, worstCase: bigint): boolean {
    if (this.#takenRequests >= this.#requests) return false;
    if (this.#tokens !== undefined && this.#takenTokens + tokens > this.#tokens) return false;
    if (this.#budget !== undefined && this.#takenBudget + worstCase > this.#budget) return false;
    return this.#parallel === undefined || this.#running < this.#parallel;
  }

  #hold(amount: bigint, calls: 1 | -1): void {
    this.#running += calls;
    this.#takenBudget += amount;
    this.#heldBudget += amount;
  }

  /** As the control plane would report it: its last state minus what this edge has used since. */
  #rateNow(): RateState {
    const { remainingRequests, remainingTokens, ...rest } = this.#rate;
    return {
      ...rest,
      remainingRequests: remainingRequests === undefined ? undefined : Math.max(0, remainingRequests - this.#takenRequests),
      remainingTokens: remainingTokens === undefined ? undefined : Math.max(0, remainingTokens - this.#takenTokens),
    };
  }
}

interface Taken {
  readonly tokens: number;
  readonly worstCase: bigint;
}

/** A call that found room in a permit. */
export class PermittedCall {
  readonly #permit: Permit;
  readonly #taken: Taken;
  #cost = 0n;
  /** The rate limits of the call after this permit. */
  readonly rate: RateState;

  constructor(permit: Permit, rate: RateState, taken: Taken) {
    this.#permit = permit;
    this.rate = rate;
    this.#taken = taken;
  }

  /** `end` and `settled` have to follow. */
  get isHeld(): boolean {
    return this.#permit.isHeld;
  }

  /** More than it could cost has to be asked for. */
  get isBudgeted(): boolean {
    return this.#permit.isBudgeted;
  }

  /** The call was not made after all. */
  putBack(): void {
    this.#permit.putBack(this.#taken);
  }

  /** The call was made and has ended. */
  end(cost: bigint): void {
    this.#cost = cost;
    this.#permit.end(this.#taken, cost);
  }

  /** The ledger has the call. */
  settled(): void {
    this.#permit.settled(this.#cost);
  }
}

function atLeastZero(amount: bigint): bigint {
  return amount > 0n ? amount : 0n;
}
