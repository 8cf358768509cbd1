import type { RateState } from "../../common/errors.ts";
import type { RatePermit } from "../../proto/gen/tributary/access/v1/access.ts";
import type { ReserveInput } from "./credit.ts";
import { type Demand, Permit } from "./permit.ts";

/** The unused part of a permit that was requested in advance. */
export interface UnusedPermit {
  readonly permit: Permit;
  readonly unused: RatePermit;
}

/** How much to request beside a call. */
export interface Ahead {
  readonly requests: number;
  readonly tokens: number;
  readonly parallel: number;
}

/** A call that found room. */
export interface Permitted {
  readonly permit: Permit;
  /** The rate limits of the call after this permit. */
  readonly rate: RateState;
}

interface PermitEntry {
  permit: Permit | undefined;
  /** One request at a time brings a permit; resolves when it has. */
  requested: PromiseWithResolvers<void> | undefined;
  /** The last request brought a permit. */
  isGranted: boolean;
  second: number;
  now: Demand;
  before: Demand;
}

/** Calls per second below which each call is reserved alone: a permit would save little, and its slice would be missing at other edges. */
const BUSY_CALLS = 8;
const NONE: Ahead = { requests: 0, tokens: 0, parallel: 0 };

/**
 * Slices of rate limits that this edge may spend by itself, one for each key and model that is called often. The control plane has already
 * counted them: a call that finds room here makes no RPC.
 */
export class RatePermits {
  readonly #monotonicMs: () => number;
  /** By key and then by model: a name made of both would have to be made, and hashed, for each call. */
  readonly #entries = new Map<string, Map<string, PermitEntry>>();
  /** Not used any more, with something that the control plane does not know yet or calls that still run. */
  readonly #over = new Set<Permit>();

  constructor({ monotonicMs }: { monotonicMs: () => number }) {
    this.#monotonicMs = monotonicMs;
  }

  /** Room for one call; undefined: it waits for what is `coming`, or has to be reserved at the control plane. */
  take(input: ReserveInput, { hasWaited = false } = {}): Permitted | undefined {
    const entry = this.#entryOf(input);
    if (!hasWaited) {
      entry.now.requests++;
      entry.now.tokens += input.tokens;
    }
    const permit = this.#usable(entry);
    if (!permit?.hasRoom(input.tokens)) return undefined;
    permit.take(input.tokens, entry.now);
    return { permit, rate: permit.rate() };
  }

  /** Resolves when a permit is here that another call requested: a reservation of its own would take as long, and the control plane's time. */
  coming(input: ReserveInput): Promise<void> | undefined {
    const { requested, isGranted } = this.#entryOf(input);
    return isGranted ? requested?.promise : undefined;
  }

  /** As much as the last second used. `asked` follows when this is more than zero. */
  ahead(input: ReserveInput): Ahead {
    const entry = this.#entryOf(input);
    const requests = Math.max(entry.now.requests, entry.before.requests);
    if (entry.requested || requests < BUSY_CALLS) return NONE;
    entry.requested = Promise.withResolvers();
    // Twice as much: only the parallel calls of permits are counted here, and those that found no room are not among them.
    const parallel = Math.max(BUSY_CALLS, 2 * Math.max(entry.now.parallel, entry.before.parallel));
    return { requests, tokens: Math.max(entry.now.tokens, entry.before.tokens), parallel };
  }

  /** The permit that a request with `ahead` brought; undefined: it brought none. */
  asked(input: ReserveInput, answer: { permit: RatePermit | undefined; rate: RateState | undefined; askedAtMs: number } | undefined): void {
    const entry = this.#entryOf(input);
    entry.requested?.resolve();
    entry.requested = undefined;
    entry.isGranted = answer?.permit !== undefined;
    if (!answer?.permit || !answer.rate) return;
    this.#drop(entry);
    const { callId, organizationId } = input.intent;
    // From the time of the request: the control plane's own second started later.
    const untilMs = answer.askedAtMs + answer.permit.lifeMs;
    entry.permit = new Permit({ callId, organizationId, granted: answer.permit, rate: answer.rate, untilMs });
  }

  /** There is no permit, and nothing to return. */
  get isAtRest(): boolean {
    return this.#entries.size === 0 && this.#over.size === 0;
  }

  /** What expired permits return. Also deletes the entries of keys that make no more calls. */
  unused(): UnusedPermit[] {
    const second = this.#second();
    for (const [apiKeyId, ofKey] of this.#entries) {
      for (const [model, entry] of ofKey) {
        this.#usable(entry);
        if (!entry.permit && !entry.requested && entry.second < second - 1) ofKey.delete(model);
      }
      if (ofKey.size === 0) this.#entries.delete(apiKeyId);
    }
    return this.#returns();
  }

  /** No call follows: what all permits return. */
  close(): UnusedPermit[] {
    for (const ofKey of this.#entries.values()) for (const entry of ofKey.values()) this.#drop(entry);
    return this.#returns();
  }

  /** Whether the control plane received what a permit returns. */
  returned({ permit, unused }: UnusedPermit, isReceived: boolean): void {
    if (permit.isReturnedWith(unused) && (isReceived || !permit.isParallel)) this.#over.delete(permit);
    else if (!isReceived) permit.reportAgain();
  }

  #returns(): UnusedPermit[] {
    const returns: UnusedPermit[] = [];
    for (const permit of this.#over) {
      const unused = permit.report();
      if (unused) returns.push({ permit, unused });
    }
    return returns;
  }

  #usable(entry: PermitEntry): Permit | undefined {
    if (entry.permit && this.#monotonicMs() >= entry.permit.untilMs) this.#drop(entry);
    return entry.permit;
  }

  #drop(entry: PermitEntry): void {
    if (entry.permit && !entry.permit.isSpent()) this.#over.add(entry.permit);
    entry.permit = undefined;
  }

  #entryOf({ intent: { apiKeyId }, model }: ReserveInput): PermitEntry {
    const second = this.#second();
    const known = this.#entries.get(apiKeyId)?.get(model) ?? this.#newEntry(apiKeyId, model, second);
    if (known.second === second) return known;
    known.before = known.second === second - 1 ? known.now : nothing();
    known.now = nothing();
    known.second = second;
    return known;
  }

  #newEntry(apiKeyId: string, model: string, second: number): PermitEntry {
    const entry = { permit: undefined, requested: undefined, isGranted: false, second, now: nothing(), before: nothing() };
    const ofKey = this.#entries.get(apiKeyId) ?? new Map<string, PermitEntry>();
    this.#entries.set(apiKeyId, ofKey.set(model, entry));
    return entry;
  }

  #second(): number {
    return Math.floor(this.#monotonicMs() / 1000);
  }
}

function nothing(): Demand {
  return { requests: 0, tokens: 0, parallel: 0 };
}
