/** What the control plane has given an edge of one organisation's credit. All sums only grow, so that a message may come twice. */
export interface Grant {
  /** Of the lease; a new one when the old one ran out. Sums of another generation mean nothing. */
  readonly generation: bigint;
  /** Everything given in this generation. */
  readonly granted: bigint;
  /** How long it may be used from when it was asked for. */
  readonly lifeMs: number;
}

/** What a call holds. */
export interface Held {
  readonly generation: bigint;
  readonly amount: bigint;
}

/** Calls in the demand window below which nothing is kept in advance: an organisation that calls now and then has its credit free. */
const BUSY_CALLS = 4;
const WINDOW_MS = 500;
/**
 * Longer than a control plane takes to start again, and than a replica set takes to commit again whose primary stands still: that is up
 * to 19 s, most of it MongoDB's own, and half of this may be used up when it begins. Meanwhile calls go on.
 */
const AHEAD_SECONDS = 40n;
/** Far longer than the control plane keeps a lease that it hears no more of: as long as it does, its sums have to be known here. */
const FORGET_MS = 600_000;

/**
 * One organisation's lease at this edge: arithmetic in memory, so that a call in steady state asks nobody. Free is what was granted
 * less what was spent, given back and is held by running calls.
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

  /** Everything given back in this generation; told with every message. */
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

  /** Below zero when calls cost more than they held: what is granted next makes that good first. */
  left(nowMs: number): bigint {
    return nowMs >= this.#validUntilMs ? 0n : this.#granted - this.#spent - this.#released - this.#held;
  }

  /** How much should be free so that calls of the next seconds ask nobody. The control plane gives less of it where little is left. */
  target(nowMs: number): bigint {
    return this.#demand.target(nowMs);
  }

  /** A call asks for so much; below zero: it got so much less than it had asked for. */
  wanted(amount: bigint, nowMs: number): void {
    if (amount > 0n) this.#demand.add(amount, nowMs);
    else this.#demand.subtract(-amount, nowMs);
  }

  forgetDemand(): void {
    this.#demand = new Demand();
  }

  /** Only after `free` said that there is so much. */
  hold(amount: bigint): Held {
    this.#held += amount;
    return { generation: this.#generation, amount };
  }

  /** A call ended: what it held is free again, what it cost is spent. */
  settle({ generation, amount }: Held, cost: bigint): void {
    // What was held under a lease that ran out went back with it.
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
    // Counted from the asking: the control plane's own clock started later.
    const validUntilMs = askedAtMs + lifeMs;
    if (validUntilMs > this.#validUntilMs) this.#validUntilMs = validUntilMs;
  }

  /** Whether more is free than the next seconds can take, even if demand only paused for a moment. */
  hasExcess(nowMs: number): boolean {
    return this.free(nowMs) > this.target(nowMs) * 2n;
  }

  /**
   * Gives back what is free above the target, to be told to the control plane with the next message; not before there is twice as much,
   * for what is given back while calls go on is asked for again, and each asking is a transaction.
   */
  release(nowMs: number): bigint {
    if (!this.hasExcess(nowMs)) return 0n;
    const excess = this.free(nowMs) - this.target(nowMs);
    this.#released += excess;
    return excess;
  }

  /** Nothing runs under it and nothing is kept. */
  isIdle(nowMs: number): boolean {
    return this.#held === 0n && this.free(nowMs) === 0n && this.target(nowMs) === 0n;
  }

  /** Whether calls may still be made under it. */
  isUsable(nowMs: number): boolean {
    return nowMs < this.#validUntilMs;
  }

  /**
   * Long enough after its end that the control plane has taken it back for certain. Forgotten earlier, the sums of a lease that is
   * renewed would start again from nothing here, and what was spent of it could be spent once more.
   */
  isOver(nowMs: number): boolean {
    return this.isIdle(nowMs) && nowMs >= this.#validUntilMs + FORGET_MS;
  }
}

/** What calls asked for in the last second, in two halves. */
class Demand {
  #startMs = Number.NEGATIVE_INFINITY;
  #now = { sum: 0n, calls: 0 };
  #before = { sum: 0n, calls: 0 };

  add(amount: bigint, nowMs: number): void {
    this.#turn(nowMs);
    this.#now.sum += amount;
    this.#now.calls++;
  }

  subtract(amount: bigint, nowMs: number): void {
    this.#turn(nowMs);
    // What does not fit into this half was asked for in the one before; what fits in neither is forgotten already.
    const left = amount - this.#now.sum;
    this.#now.sum = left < 0n ? -left : 0n;
    if (left > 0n) this.#before.sum = left < this.#before.sum ? this.#before.sum - left : 0n;
  }

  target(nowMs: number): bigint {
    this.#turn(nowMs);
    if (this.#now.calls + this.#before.calls < BUSY_CALLS) return 0n;
    // A half that has only begun says little: until it has as much as the one before, that one counts for both.
    const [now, before] = [this.#now.sum, this.#before.sum];
    return (now > before ? now + before : before * 2n) * AHEAD_SECONDS;
  }

  #turn(nowMs: number): void {
    if (nowMs < this.#startMs + WINDOW_MS) return;
    this.#before = nowMs < this.#startMs + 2 * WINDOW_MS ? this.#now : { sum: 0n, calls: 0 };
    this.#now = { sum: 0n, calls: 0 };
    this.#startMs = nowMs;
  }
}
