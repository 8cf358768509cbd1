import fc from "fast-check";
import { LeaseAccount } from "./lease-account.ts";

const grant = (granted: bigint, generation = 1n) => ({ generation, granted, lifeMs: 45_000 });

type Step =
  | { type: "grant"; amount: bigint }
  | { type: "hold"; amount: bigint }
  | { type: "settle"; share: number }
  | { type: "release"; waitMs: number };

/** The account beside sums that are computed step by step. */
class Model {
  readonly account = new LeaseAccount("org");
  readonly #running: ReturnType<LeaseAccount["hold"]>[] = [];
  #nowMs = 0;
  #granted = 0n;
  #spent = 0n;
  #released = 0n;

  take(step: Step): void {
    if (step.type === "grant") this.#grant(step.amount);
    else if (step.type === "hold") this.#hold(step.amount);
    else if (step.type === "settle") this.#settle(step.share);
    else {
      this.#nowMs += step.waitMs;
      this.#released += this.account.release(this.#nowMs);
    }
  }

  check(): void {
    const held = this.#running.reduce((sum, { amount }) => sum + amount, 0n);
    const left = this.#granted - this.#spent - this.#released - held;
    expect(this.account.held).toBe(held);
    expect(this.account.released).toBe(this.#released);
    expect(this.account.free(this.#nowMs)).toBe(left > 0n ? left : 0n);
  }

  #grant(amount: bigint): void {
    this.#granted += amount;
    this.account.grant(grant(this.#granted), this.#nowMs);
    // The same message again, and an older one, change nothing.
    this.account.grant(grant(this.#granted - amount), this.#nowMs);
  }

  #hold(amount: bigint): void {
    this.account.wanted(amount, this.#nowMs);
    if (this.account.free(this.#nowMs) >= amount) this.#running.push(this.account.hold(amount));
  }

  #settle(share: number): void {
    const held = this.#running.shift();
    if (!held) return;
    const cost = (held.amount * BigInt(share)) / 100n;
    this.#spent += cost;
    this.account.settle(held, cost);
  }
}

test("whatever is granted, held, settled and given back: no more is free than is left, and never less than nothing", () => {
  const step: fc.Arbitrary<Step> = fc.oneof(
    fc.record({ type: fc.constant("grant" as const), amount: fc.bigInt(0n, 1000n) }),
    fc.record({ type: fc.constant("hold" as const), amount: fc.bigInt(1n, 300n) }),
    fc.record({ type: fc.constant("settle" as const), share: fc.integer({ min: 0, max: 150 }) }),
    fc.record({ type: fc.constant("release" as const), waitMs: fc.integer({ min: 0, max: 700 }) }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 100 }), (steps) => {
      const model = new Model();
      for (const each of steps) {
        model.take(each);
        model.check();
      }
    }),
  );
});

test("an organization that calls now and then keeps nothing; one that calls often keeps what forty seconds take, and gives it back after", () => {
  const account = new LeaseAccount("org");
  account.grant(grant(10_000n), 0);
  account.wanted(100n, 0);
  expect(account.target(0)).toBe(0n);
  expect(account.release(0)).toBe(10_000n);
  account.grant(grant(90_000n), 0);
  for (let call = 0; call < 9; call++) account.wanted(100n, call * 10);
  expect(account.target(100)).toBe(40_000n);
  // Twice as much stays: credit that is returned while calls go on is soon requested again.
  expect(account.release(100)).toBe(0n);
  account.grant(grant(91_000n), 0);
  expect(account.release(100)).toBe(41_000n);
  expect(account.free(100)).toBe(40_000n);
  expect(account.release(15_000)).toBe(40_000n);
  expect(account.isIdle(15_000)).toBe(true);
});

test("calls that are few for a moment keep what twenty seconds take: while a store has no primary, nothing that was returned can be had again", () => {
  const account = new LeaseAccount("org");
  account.grant(grant(100_000n), 0);
  // 4.5 calls a second: a few streams at once on a slow machine.
  for (let nowMs = 0; nowMs < 8000; nowMs += 220) {
    account.wanted(100n, nowMs);
    if (nowMs > 1000) account.release(nowMs);
  }
  const twentySeconds = 9000n;
  for (let nowMs = 8000; nowMs < 11_000; nowMs += 250) {
    account.release(nowMs);
    expect(account.free(nowMs)).toBeGreaterThanOrEqual(twentySeconds);
  }
});

test("an organization with one call in a second has credit ahead, as one with many does", () => {
  const account = new LeaseAccount("org");
  for (let nowMs = 0; nowMs <= 10_000; nowMs += 1000) account.wanted(100n, nowMs);
  expect(account.target(10_000)).toBe(4000n);
});

test("what calls requested and did not get is no demand, however late they were answered", () => {
  const account = new LeaseAccount("org");
  for (let call = 0; call < 10; call++) account.wanted(1_000_000n, call * 200);
  for (let call = 0; call < 10; call++) account.wanted(-999_900n, 4900);
  expect(account.target(4900)).toBeLessThanOrEqual(4000n);
});

test("while calls come at one rate, what should be free stays the same, and nothing is given back and asked for again", () => {
  const account = new LeaseAccount("org");
  const [perCall, everyMs] = [100n, 10];
  account.grant(grant(450_000n), 0);
  for (let nowMs = 0; nowMs < 5000; nowMs += everyMs) {
    account.wanted(perCall, nowMs);
    if (nowMs < 1000) continue;
    // A second's calls, forty times; a half second may hold one call more or less.
    expect(Math.abs(Number(account.target(nowMs)) - 400_000)).toBeLessThanOrEqual(8000);
    expect(account.release(nowMs)).toBe(0n);
  }
});

test("a lease that ran out is not used, and calls made under it do not touch the next one", () => {
  const account = new LeaseAccount("org");
  account.grant(grant(100n), 0);
  const held = account.hold(60n);
  expect(account.free(44_999)).toBe(40n);
  expect(account.free(45_000)).toBe(0n);
  account.grant(grant(50n, 2n), 50_000);
  expect(account.free(50_000)).toBe(50n);
  account.settle(held, 60n);
  expect(account.free(50_000)).toBe(50n);
  account.grant(grant(500n, 1n), 50_000);
  expect(account.free(50_000)).toBe(50n);
});
