import type { RateState } from "../../common/errors.ts";
import type { RatePermit } from "../../proto/gen/tributary/access/v1/access.ts";
import type { ReserveInput } from "./credit.ts";

/** What was asked for in advance and not used, by the call that it came with. */
export interface UnusedPermit {
  readonly callId: string;
  readonly unused: RatePermit;
}

export interface Permitted {
  /** How the limits of the call stand with it. */
  readonly rate: RateState;
  /** The call was not made after all. */
  putBack(): void;
}

interface Held {
  readonly callId: string;
  /** How the limits stood without the permit. */
  readonly rate: RateState;
  readonly untilMs: number;
  /** Undefined: no limit of tokens holds. */
  tokens: bigint | undefined;
  requests: bigint;
  takenRequests: number;
  takenTokens: number;
}

interface PermitEntry {
  held: Held | undefined;
  /** One asking at a time brings a permit. */
  isAsking: boolean;
  second: number;
  now: Demand;
  before: Demand;
}

interface Demand {
  requests: number;
  tokens: number;
}

/** Calls a second below which each is asked for by itself: little is saved, and what is held in advance is missing elsewhere. */
const BUSY_CALLS = 8;

/**
 * Slices of rate limits that this edge may spend by itself, one for each key and model that is called often. The control plane has
 * counted them already: a call that finds room here asks nobody.
 */
export class RatePermits {
  readonly #monotonicMs: () => number;
  readonly #entries = new Map<string, PermitEntry>();
  #unused: UnusedPermit[] = [];

  constructor({ monotonicMs }: { monotonicMs: () => number }) {
    this.#monotonicMs = monotonicMs;
  }

  /** Room for one call; undefined: it has to be asked for. */
  take(input: ReserveInput): Permitted | undefined {
    const entry = this.#entryOf(input);
    entry.now.requests++;
    entry.now.tokens += input.tokens;
    const held = this.#usable(entry);
    if (!held || held.requests < 1n || (held.tokens !== undefined && held.tokens < BigInt(input.tokens))) return undefined;
    count(held, input.tokens, 1);
    return { rate: stateOf(held), putBack: () => count(held, input.tokens, -1) };
  }

  /** What to ask for beside a call: as much as the last second took. Followed by `asked` when it is anything. */
  ahead(input: ReserveInput): Demand {
    const entry = this.#entryOf(input);
    const requests = Math.max(entry.now.requests, entry.before.requests);
    if (entry.isAsking || requests < BUSY_CALLS) return { requests: 0, tokens: 0 };
    entry.isAsking = true;
    return { requests, tokens: Math.max(entry.now.tokens, entry.before.tokens) };
  }

  /** The answer to an asking with something ahead, or that there is none. */
  asked(input: ReserveInput, answer: { permit: RatePermit | undefined; rate: RateState | undefined; askedAtMs: number } | undefined): void {
    const entry = this.#entryOf(input);
    entry.isAsking = false;
    if (!answer?.permit || !answer.rate) return;
    this.#drop(entry);
    const { requests, tokens, lifeMs } = answer.permit;
    // Counted from the asking: the control plane's own second started later.
    const untilMs = answer.askedAtMs + lifeMs;
    const { callId } = input.intent;
    entry.held = { callId, rate: answer.rate, untilMs, requests, tokens, takenRequests: 0, takenTokens: 0 };
  }

  /** What nobody will use any more, to be told once; forgets keys that call no more. */
  unused(): UnusedPermit[] {
    const second = this.#second();
    for (const [name, entry] of this.#entries) {
      this.#usable(entry);
      if (!entry.held && !entry.isAsking && entry.second < second - 1) this.#entries.delete(name);
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
    this.#unused.push({ callId: held.callId, unused: { requests: held.requests, tokens: held.tokens ?? 0n, lifeMs: 0 } });
  }

  #entryOf({ intent: { apiKeyId }, model }: ReserveInput): PermitEntry {
    const name = `${apiKeyId} ${model}`;
    const second = this.#second();
    const known = this.#entries.get(name) ?? { held: undefined, isAsking: false, second, now: nothing(), before: nothing() };
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

/** As the control plane would tell it: what it said, less what was taken here since. */
function stateOf({ rate, takenRequests, takenTokens }: Held): RateState {
  const left = (remaining: number | undefined, taken: number) => (remaining === undefined ? undefined : Math.max(0, remaining - taken));
  return {
    ...rate,
    remainingRequests: left(rate.remainingRequests, takenRequests),
    remainingTokens: left(rate.remainingTokens, takenTokens),
  };
}
