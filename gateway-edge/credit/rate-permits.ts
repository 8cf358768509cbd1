import type { RateState } from "../../common/errors.ts";
import type { RatePermit } from "../../proto/gen/tributary/access/v1/access.ts";
import type { ReserveInput } from "./credit.ts";

/** A permit that was requested in advance and not used, with the id of the call that brought it. */
export interface UnusedPermit {
  readonly callId: string;
  readonly organizationId: string;
  readonly unused: RatePermit;
}

export interface Permitted {
  /** The rate limits of the call after this permit. */
  readonly rate: RateState;
  /** The call was not made after all. */
  putBack(): void;
}

interface Held {
  readonly callId: string;
  readonly organizationId: string;
  /** The rate limits without the permit. */
  readonly rate: RateState;
  readonly untilMs: number;
  /** Undefined: there is no limit on tokens. */
  tokens: bigint | undefined;
  requests: bigint;
  takenRequests: number;
  takenTokens: number;
}

interface PermitEntry {
  held: Held | undefined;
  /** One request at a time brings a permit. */
  isRequesting: boolean;
  second: number;
  now: Demand;
  before: Demand;
}

interface Demand {
  requests: number;
  tokens: number;
}

/** Calls per second below which each call is reserved alone: a permit would save little, and its slice would be missing at other edges. */
const BUSY_CALLS = 8;

/**
 * Slices of rate limits that this edge may spend by itself, one for each key and model that is called often. The control plane has already
 * counted them: a call that finds room here makes no RPC.
 */
export class RatePermits {
  readonly #monotonicMs: () => number;
  readonly #entries = new Map<string, PermitEntry>();
  #unused: UnusedPermit[] = [];

  constructor({ monotonicMs }: { monotonicMs: () => number }) {
    this.#monotonicMs = monotonicMs;
  }

  /** Room for one call; undefined: the call has to be reserved at the control plane. */
  take(input: ReserveInput): Permitted | undefined {
    const entry = this.#entryOf(input);
    entry.now.requests++;
    entry.now.tokens += input.tokens;
    const held = this.#usable(entry);
    if (!held || held.requests < 1n || (held.tokens !== undefined && held.tokens < BigInt(input.tokens))) return undefined;
    count(held, input.tokens, 1);
    return { rate: stateOf(held), putBack: () => count(held, input.tokens, -1) };
  }

  /** How much to request beside a call: as much as the last second used. `asked` follows when this is more than zero. */
  ahead(input: ReserveInput): Demand {
    const entry = this.#entryOf(input);
    const requests = Math.max(entry.now.requests, entry.before.requests);
    if (entry.isRequesting || requests < BUSY_CALLS) return { requests: 0, tokens: 0 };
    entry.isRequesting = true;
    return { requests, tokens: Math.max(entry.now.tokens, entry.before.tokens) };
  }

  /** The permit that a request with `ahead` brought; undefined: it brought none. */
  asked(input: ReserveInput, answer: { permit: RatePermit | undefined; rate: RateState | undefined; askedAtMs: number } | undefined): void {
    const entry = this.#entryOf(input);
    entry.isRequesting = false;
    if (!answer?.permit || !answer.rate) return;
    this.#drop(entry);
    const { requests, tokens, lifeMs } = answer.permit;
    // From the time of the request: the control plane's own second started later.
    const untilMs = answer.askedAtMs + lifeMs;
    const { callId, organizationId } = input.intent;
    entry.held = { callId, organizationId, rate: answer.rate, untilMs, requests, tokens, takenRequests: 0, takenTokens: 0 };
  }

  /** Expired permits, each returned once. Also deletes the entries of keys that make no more calls. */
  unused(): UnusedPermit[] {
    const second = this.#second();
    for (const [name, entry] of this.#entries) {
      this.#usable(entry);
      if (!entry.held && !entry.isRequesting && entry.second < second - 1) this.#entries.delete(name);
    }
    return this.#unused.splice(0);
  }

  #usable(entry: PermitEntry): Held | undefined {
    if (entry.held && this.#monotonicMs() >= entry.held.untilMs) this.#drop(entry);
    return entry.held;
  }

  #drop(entry: PermitEntry): void {
    const { held } = entry;
    entry.held = undefined;
    if (!held || held.requests <= 0n) return;
    const { callId, organizationId } = held;
    this.#unused.push({ callId, organizationId, unused: { requests: held.requests, tokens: held.tokens ?? 0n, lifeMs: 0 } });
  }

  #entryOf({ intent: { apiKeyId }, model }: ReserveInput): PermitEntry {
    const name = `${apiKeyId} ${model}`;
    const second = this.#second();
    const known = this.#entries.get(name) ?? { held: undefined, isRequesting: false, second, now: nothing(), before: nothing() };
    this.#entries.set(name, known);
    if (known.second === second) return known;
    known.before = known.second === second - 1 ? known.now : nothing();
    known.now = nothing();
    known.second = second;
    return known;
  }

  #second(): number {
    return Math.floor(this.#monotonicMs() / 1000);
  }
}

function nothing(): Demand {
  return { requests: 0, tokens: 0 };
}

function count(held: Held, tokens: number, calls: 1 | -1): void {
  held.requests -= BigInt(calls);
  held.takenRequests += calls;
  held.takenTokens += calls * tokens;
  if (held.tokens !== undefined) held.tokens -= BigInt(calls * tokens);
}

/** As the control plane would report it: its last state minus what this edge has used since. */
function stateOf({ rate, takenRequests, takenTokens }: Held): RateState {
  const left = (remaining: number | undefined, taken: number) => (remaining === undefined ? undefined : Math.max(0, remaining - taken));
  return {
    ...rate,
    remainingRequests: left(rate.remainingRequests, takenRequests),
    remainingTokens: left(rate.remainingTokens, takenTokens),
  };
}
