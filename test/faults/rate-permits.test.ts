import fc from "fast-check";
import type { Clock } from "../../common/clock.ts";
import { AppError } from "../../common/errors.ts";
import { RateLimiter, type RateSubject } from "../../control-plane/credit/rate-limiter.ts";
import type { RateLimits } from "../../control-plane/domain/records.ts";
import type { ReserveInput } from "../../gateway-edge/credit/credit.ts";
import { RatePermits } from "../../gateway-edge/credit/rate-permits.ts";

const MINUTE_SECONDS = 60;
const TOKENS = 7;

/** Edges that hold permits, and the control plane that gives them, on one clock. Messages take their time. */
class World {
  now = 5000;
  readonly #clock: Clock = { now: () => this.now, monotonicMs: () => this.now, sleep: async () => {}, after: () => () => {} };
  readonly limiter = new RateLimiter(this.#clock);
  readonly #edges: RatePermits[];
  readonly #subjects: readonly RateSubject[];
  /** Admitted calls, by second. */
  readonly admitted = new Map<number, number>();
  calls = 0;
  asked = 0;
  #count = 0;

  constructor(edges: number, limits: RateLimits) {
    this.#edges = Array.from({ length: edges }, () => new RatePermits(this.#clock));
    this.#subjects = [
      { kind: "key", id: "key_1", limits },
      { kind: "team", id: "team_1", limits: {} },
    ];
  }

  /** Makes one call at an edge; returns the remaining requests that the call reports, or undefined when it is refused. */
  call(index: number, messageMs = 0): number | undefined {
    const edge = this.#edges[index];
    if (!edge) return undefined;
    this.calls++;
    const input = { intent: { callId: `call_${this.#count++}`, apiKeyId: "key_1" }, model: "m", tokens: TOKENS } as ReserveInput;
    const taken = edge.take(input);
    if (taken) return this.#admit(taken.rate.remainingRequests);
    const askedAtMs = this.now;
    const ahead = edge.ahead(input);
    this.asked++;
    this.now += messageMs;
    try {
      const rate = this.limiter.check(this.#subjects, TOKENS);
      this.limiter.begin(this.#subjects, TOKENS);
      const permit = ahead.requests > 0 ? this.limiter.permit(input.intent.callId, this.#subjects, ahead) : undefined;
      const wire = permit && {
        ...permit,
        requests: BigInt(permit.requests),
        tokens: permit.tokens === undefined ? undefined : BigInt(permit.tokens),
      };
      if (ahead.requests > 0) edge.asked(input, { permit: wire, rate, askedAtMs });
      return this.#admit(rate.remainingRequests);
    } catch (refused) {
      if (ahead.requests > 0) edge.asked(input, undefined);
      if (!(refused instanceof AppError)) throw refused;
      return undefined;
    }
  }

  giveBack(index: number): void {
    for (const returned of this.#edges[index]?.unused() ?? []) {
      const { permit, unused } = returned;
      this.limiter.takeBack(permit.callId, { requests: Number(unused.requests), tokens: Number(unused.tokens) });
      this.#edges[index]?.returned(returned, true);
    }
  }

  /** A process that dies takes its permit along. */
  kill(index: number): void {
    this.#edges[index] = new RatePermits(this.#clock);
  }

  mostInAMinute(): number {
    const seconds = [...this.admitted.keys()];
    const sums = seconds.map((first) =>
      seconds.reduce(
        (sum, second) => (second >= first && second < first + MINUTE_SECONDS ? sum + (this.admitted.get(second) ?? 0) : sum),
        0,
      ),
    );
    return Math.max(0, ...sums);
  }

  #admit(remaining: number | undefined): number {
    const second = Math.floor(this.now / 1000);
    this.admitted.set(second, (this.admitted.get(second) ?? 0) + 1);
    return remaining ?? Number.POSITIVE_INFINITY;
  }
}

interface Step {
  readonly edge: number;
  readonly calls: number;
  readonly afterMs: number;
  readonly messageMs: number;
  readonly ending: string;
}

function play(world: World, { edge, calls, afterMs, messageMs, ending }: Step): void {
  for (let call = 0; call < calls; call++) world.call(edge, call === 0 ? messageMs : 0);
  world.now += afterMs;
  if (ending === "give back") world.giveBack(edge);
  if (ending === "die") world.kill(edge);
}

test("however calls fall on edges, whatever is lost or late, no minute has more than its limit", () => {
  const step = fc.record({
    edge: fc.nat(3),
    calls: fc.integer({ min: 1, max: 120 }),
    afterMs: fc.oneof(fc.nat(40), fc.nat(1500), fc.constant(20_000)),
    messageMs: fc.oneof(fc.constant(0), fc.nat(300)),
    ending: fc.constantFrom("nothing", "give back", "give back", "die"),
  });
  const limits = fc.oneof(
    fc.record({ rpm: fc.integer({ min: 1, max: 600 }) }),
    fc.record({ tpm: fc.integer({ min: TOKENS, max: 4000 }) }),
    fc.record({ rpm: fc.integer({ min: 1, max: 600 }), tpm: fc.integer({ min: TOKENS, max: 4000 }) }),
  );
  fc.assert(
    fc.property(limits, fc.array(step, { minLength: 5, maxLength: 60 }), (given: RateLimits, steps) => {
      const world = new World(4, given);
      for (const each of steps) play(world, each);
      const most = Math.min(given.rpm ?? Number.POSITIVE_INFINITY, Math.floor((given.tpm ?? Number.POSITIVE_INFINITY) / TOKENS));
      expect(world.mostInAMinute()).toBeLessThanOrEqual(most);
    }),
    { numRuns: 100 },
  );
});

test("for a key that calls often, the edge requests permits only now and then, the whole limit is usable, and the remaining requests are correct", () => {
  const rpm = 6000;
  const world = new World(2, { rpm });
  const reported: (number | undefined)[] = [];
  // One edge has the calls of a minute, 50 a second; the other gives back what it took in the beginning.
  for (let call = 0; call < 20; call++) world.call(1);
  for (let tick = 0; tick < 2900; tick++) {
    world.now += 20;
    reported.push(world.call(0));
    if (tick % 12 === 0) {
      world.giveBack(0);
      world.giveBack(1);
    }
  }
  expect(reported.every((remaining) => remaining !== undefined)).toBe(true);
  // Exact but for what was not used of the last second and is not given back yet.
  expect(reported.at(-1)).toBeLessThanOrEqual(rpm - world.calls);
  expect(reported.at(-1)).toBeGreaterThan(rpm - world.calls - 50);
  expect(world.asked / world.calls).toBeLessThan(0.1);
});

test("the whole limit can be had, to the last call, which is asked for by itself", () => {
  const world = new World(3, { rpm: 300 });
  const answers = Array.from({ length: 900 }, (_, call) => {
    world.now += 1;
    if (call % 100 === 0) for (const edge of [0, 1, 2]) world.giveBack(edge);
    return world.call(call % 3);
  });
  world.now += 1100;
  for (const edge of [0, 1, 2]) world.giveBack(edge);
  const rest = Array.from({ length: 60 }, () => world.call(0));
  const made = [...answers, ...rest].filter((remaining) => remaining !== undefined);
  expect(made).toHaveLength(300);
  expect(made.at(-1)).toBe(0);
});
