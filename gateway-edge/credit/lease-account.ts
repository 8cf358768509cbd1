/** The credit of one organization that the control plane has granted to an edge. All sums only grow, so that a message may arrive twice. */
export interface Grant {
  /** Of the lease; a new lease has a new generation after the old one expired. Sums of another generation do not apply. */
  readonly generation: bigint;
  /** Total granted in this generation. */
  readonly granted: bigint;
  /** How long it may be used, from the time of the request. */
  readonly lifeMs: number;
}

/** What a call holds. */
export interface Held {
  readonly generation: bigint;
  readonly amount: bigint;
}

/** Calls in a span of demand below which no credit is leased in advance: the credit of an organization that calls seldom stays free. */
const BUSY_CALLS = 4;
/** Demand is counted over two spans: the shorter follows a burst, the longer outlasts a pause and knows those that call steadily but slowly. */
const SHORT_HALF_MS = 500;
const LONG_HALF_MS = 5000;
/**
 * Longer than a control plane takes to restart, and than a replica set without a primary takes to commit again: up to 19 s, most of it
 * MongoDB's own, and half of this time may already be used up. Calls go on meanwhile.
 */
const AHEAD_SECONDS = 40n;
/** Far longer than the control plane remembers a lease without messages: as long as it does, the sums must be known here. */
const FORGET_MS = 600_000;

/**
 * One organization's lease at this edge: arithmetic in memory, so that a call in steady state makes no RPC. Free credit is what was granted
 * minus what was spent, returned and is held by running calls.
 */
export class LeaseAccount {
  readonly organizationId: string;
  #generation = 0n;
  #granted = 0n;
  #spent = 0n;
  #released = 0n;
  #held = 0n;
  #validUntilMs = Number.NEGATIVE_INFINITY;
  #demand = new Demand();

  constructor(organizationId: string) {
    this.organizationId = organizationId;
  }

  get generation(): bigint {
    return this.#generation;
  }

  /** Total returned in this generation; sent with every message. */
  get released(): bigint {
    return this.#released;
  }

  get held(): bigint {
    return this.#held;
  }

  free(nowMs: number): bigint {
    const left = this.left(nowMs);
    return left > 0n ? left : 0n;
  }

  /** Below zero when calls cost more than they held: the next grant makes up for that first. */
  left(nowMs: number): bigint {
    return nowMs >= this.#validUntilMs ? 0n : this.#granted - this.#spent - this.#released - this.#held;
  }

  /** How much should be free so that calls of the next seconds need no RPC. The control plane grants less where little is left. */
  target(nowMs: number): bigint {
    return this.#demand.target(nowMs);
  }

  /** A call requests this amount; below zero: it got that much less than it requested. */
  wanted(amount: bigint, nowMs: number): void {
    if (amount > 0n) this.#demand.add(amount, nowMs);
    else this.#demand.subtract(-amount, nowMs);
  }

  forgetDemand(): void {
    this.#demand = new Demand();
  }

  /** Only after `free` reported at least this amount. */
  hold(amount: bigint): Held {
    this.#held += amount;
    return { generation: this.#generation, amount };
  }

  /** A call ended: the amount it held is free again, its cost is spent. */
  settle({ generation, amount }: Held, cost: bigint): void {
    // Credit held under an expired lease was returned with that lease.
    if (generation !== this.#generation) return;
    this.#held -= amount;
    this.#spent += cost;
  }

  grant({ generation, granted, lifeMs }: Grant, askedAtMs: number): void {
    if (generation < this.#generation) return;
    if (generation > this.#generation) {
      this.#generation = generation;
      this.#granted = 0n;
      this.#spent = 0n;
      this.#released = 0n;
      this.#held = 0n;
    }
    if (granted > this.#granted) this.#granted = granted;
    // From the time of the request: the control plane's own clock started later.
    const validUntilMs = askedAtMs + lifeMs;
    if (validUntilMs > this.#validUntilMs) this.#validUntilMs = validUntilMs;
  }

  /** Whether more is free than the next seconds can use, even if demand only paused for a moment. */
  hasExcess(nowMs: number): boolean {
    return this.free(nowMs) > this.target(nowMs) * 2n;
  }

  /**
   * Returns credit that is free above the target; the next message reports it to the control plane. It waits until twice the target is
   * free: credit that is returned while calls go on is requested again, and each request is a transaction.
   */
  release(nowMs: number): bigint {
    if (!this.hasExcess(nowMs)) return 0n;
    const excess = this.free(nowMs) - this.target(nowMs);
    this.#released += excess;
    return excess;
  }

  /** No call holds credit of this lease, and none is reserved in advance. */
  isIdle(nowMs: number): boolean {
    return this.#held === 0n && this.free(nowMs) === 0n && this.target(nowMs) === 0n;
  }

  /** Whether calls may still reserve from it. */
  isUsable(nowMs: number): boolean {
    return nowMs < this.#validUntilMs;
  }

  /**
   * Long enough after its end that the control plane has certainly taken the lease back. Deleted earlier, the sums of a renewed lease would
   * restart from zero here, and what was spent of it could be spent again.
   */
  isOver(nowMs: number): boolean {
    return nowMs >= this.#validUntilMs + FORGET_MS && this.isIdle(nowMs);
  }
}

/** The amounts that calls requested lately. */
class Demand {
  readonly #long = new Span(LONG_HALF_MS);
  readonly #short = new Span(SHORT_HALF_MS, (half, startMs) => this.#long.add(half, startMs));

  add(amount: bigint, nowMs: number): void {
    this.#short.add({ sum: amount, calls: 1 }, nowMs);
  }

  subtract(amount: bigint, nowMs: number): void {
    this.#long.subtract(this.#short.subtract(amount, nowMs), nowMs);
  }

  target(nowMs: number): bigint {
    const [short, long] = [this.#short.ahead(nowMs), this.#long.ahead(nowMs)];
    return short > long ? short : long;
  }
}

interface Half {
  sum: bigint;
  calls: number;
}

/** Returns what the half did not have. */
function take(half: Half, amount: bigint): bigint {
  const taken = amount < half.sum ? amount : half.sum;
  half.sum -= taken;
  return amount - taken;
}

/** What calls requested in a span of time, in two halves. */
class Span {
  readonly #halfMs: number;
  /** The span is this often in the time for which credit is leased. */
  readonly #times: bigint;
  readonly #ended: ((half: Half, startMs: number) => void) | undefined;
  #startMs = Number.NEGATIVE_INFINITY;
  #now: Half = { sum: 0n, calls: 0 };
  #before: Half = { sum: 0n, calls: 0 };

  /** `ended` gets each half when the next one begins after it, with the time of its start. */
  constructor(halfMs: number, ended?: (half: Half, startMs: number) => void) {
    this.#halfMs = halfMs;
    this.#times = (AHEAD_SECONDS * 1000n) / BigInt(2 * halfMs);
    this.#ended = ended;
  }

  add({ sum, calls }: Half, nowMs: number): void {
    this.#turn(nowMs);
    this.#now.sum += sum;
    this.#now.calls += calls;
  }

  /** Returns what exceeds this span. */
  subtract(amount: bigint, nowMs: number): bigint {
    this.#turn(nowMs);
    // An amount that exceeds this half was requested in the previous half.
    return take(this.#before, take(this.#now, amount));
  }

  /** What calls will request in the time for which credit is leased, if they go on like this. */
  ahead(nowMs: number): bigint {
    this.#turn(nowMs);
    if (this.#now.calls + this.#before.calls < BUSY_CALLS) return 0n;
    // A half that has only begun is not representative: until it exceeds the previous half, the previous half counts twice.
    const [now, before] = [this.#now.sum, this.#before.sum];
    return (now > before ? now + before : before * 2n) * this.#times;
  }

  #turn(nowMs: number): void {
    if (nowMs < this.#startMs + this.#halfMs) return;
    if (this.#now.calls > 0) this.#ended?.(this.#now, this.#startMs);
    this.#before = nowMs < this.#startMs + 2 * this.#halfMs ? this.#now : { sum: 0n, calls: 0 };
    this.#now = { sum: 0n, calls: 0 };
    this.#startMs = nowMs;
  }
}
