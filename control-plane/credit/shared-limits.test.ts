import { Readable } from "node:stream";
import fc from "fast-check";
import type { Clock } from "../../common/clock.ts";
import { AppError } from "../../common/errors.ts";
import { limitName, slotOf } from "../../common/slots.ts";
import { emptyAccount, organizationAccount } from "../domain/ledger.ts";
import type { RateLimits } from "../domain/records.ts";
import type { Reader } from "../stores/store.ts";
import { type CallToCount, CountedCalls } from "./counted-calls.ts";
import { RateLimiter } from "./rate-limiter.ts";
import { Reservations } from "./reservations.ts";
import { SharedLimits } from "./shared-limits.ts";

const SLOTS = 8;

interface World {
  readonly planes?: number;
  readonly model?: RateLimits;
  readonly user?: RateLimits;
  readonly key?: RateLimits;
  /** Why a plane cannot be asked. */
  readonly down?: AppError;
}

/** Control planes of which each owns every n-th slot, over one store that never changes. */
class Planes {
  nowMs = 1_000_000;
  readonly asked: { slot: number; calls: number }[] = [];
  readonly counted: CountedCalls[] = [];
  readonly reservations: Reservations[];
  readonly count: number;
  #calls = 0;

  constructor({ planes = 2, model = {}, user = {}, key = {}, down }: World) {
    this.count = planes;
    const clock: Clock = { now: () => this.nowMs, monotonicMs: () => this.nowMs, sleep: async () => {}, after: () => () => {} };
    const records: Record<string, unknown> = {
      teams: { id: "team_1" },
      keys: { id: "key_1", ...key },
      accounts: { ...emptyAccount(organizationAccount("org_1")), balance: 1_000n },
      users: { id: 7, ...user },
      models: { id: "model_1", name: "m", ...model },
    };
    const read = async (collection: string) => records[collection];
    const reader = { get: read, find: read, getMany: async () => [], scan: () => Readable.from([]) } as unknown as Reader;
    this.reservations = Array.from({ length: planes }, (_, place) => {
      const rates = new RateLimiter(clock);
      this.counted.push(new CountedCalls(rates, clock));
      const owners = {
        slots: SLOTS,
        isOwned: (slot: number) => slot % planes === place,
        count: async (slot: number, calls: readonly CallToCount[]) => {
          this.asked.push({ slot, calls: calls.length });
          if (down) throw down;
          return calls.map((call) => this.#counter(slot).count(slot, call));
        },
        giveBack: async (slot: number, calls: readonly Parameters<CountedCalls["take"]>[1][]) => {
          for (const call of calls) this.#counter(slot).take(slot, call);
        },
      };
      return new Reservations({ reader, clock, policy: "document", rates, shared: new SharedLimits(owners, clock) });
    });
  }

  #counter(slot: number): CountedCalls {
    const counter = this.counted[slot % this.count];
    if (!counter) throw new Error(`no plane owns the slot ${slot}`);
    return counter;
  }

  /** Makes a call at a plane; its id, or why it was refused. */
  async call(place: number, { tokens = 1, ahead }: { tokens?: number; ahead?: number } = {}) {
    const callId = `call_${this.#calls++}`;
    const owners = { keyId: `key_${place}`, teamId: "team_1", organizationId: `org_${place}`, userId: 7, model: "m" };
    const asked = ahead === undefined ? {} : { ahead: { requests: ahead, tokens: ahead } };
    try {
      const reserved = await this.reservations[place]?.reserve({ callId, ...owners, worstCase: 0n, tokens, ...asked });
      return { callId, reserved };
    } catch (thrown) {
      if (thrown instanceof AppError) return { callId, refused: thrown };
      throw thrown;
    }
  }

  /** Calls at all planes in turn, at once; how many were admitted. */
  async admitted(calls: number): Promise<number> {
    const made = await Promise.all(Array.from({ length: calls }, (_, index) => this.call(index % this.count)));
    return made.filter(({ reserved }) => reserved).length;
  }

  /** Uses so much of a call's permit as an edge, returns the rest, and tells when the calls were made. */
  use(place: number, { callId, reserved }: Awaited<ReturnType<Planes["call"]>>, most: number): number[] {
    const granted = reserved?.permit?.requests ?? 0;
    const used = Math.min(most, granted);
    if (granted > 0) this.reservations[place]?.takeBack(callId, { requests: granted - used, tokens: 0 });
    return Array.from({ length: reserved ? 1 + used : 0 }, () => this.nowMs);
  }

  /** What gives back does so in the background. */
  async settle(): Promise<void> {
    for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
  }
}

test.each([1, 2, 3])(
  "the requests and tokens of a model that organizations of %i planes call are as many as its limit says",
  async (planes) => {
    expect(await new Planes({ planes, model: { rpm: 60 } }).admitted(150)).toBe(60);
    expect(await new Planes({ planes, user: { tpm: 40 } }).admitted(150)).toBe(40);
  },
);

test("a refusal says what its owner would say, and a limit of one's own refuses before anything counts elsewhere", async () => {
  const far = 1 - (slotOf(limitName({ kind: "model", id: "m" }), SLOTS) % 2);
  const planes = new Planes({ model: { rpm: 2 }, key: { rpm: 1 } });
  const { reserved } = await planes.call(far);
  expect(reserved?.rate).toMatchObject({ limitRequests: 1, remainingRequests: 0 });
  // The key of this plane refuses: the model has one call left for the other plane.
  expect((await planes.call(far)).refused).toMatchObject({ code: "RATE_LIMIT_EXCEEDED", message: expect.stringContaining("key's limit") });
  await planes.settle();
  expect((await planes.call(1 - far)).reserved).toBeDefined();
  planes.nowMs += 30_000;
  const both = await planes.call(far);
  expect(both.refused?.message).toContain("limit of");
  expect(both.refused?.retryAfterSeconds).toBeGreaterThan(0);
});

test("parallel calls are counted until they end, wherever they are made", async () => {
  const planes = new Planes({ model: { maxParallelRequests: 4 } });
  const first = await Promise.all([0, 1, 0, 1].map((place) => planes.call(place)));
  expect(first.every(({ reserved }) => reserved)).toBe(true);
  expect([(await planes.call(0)).refused?.code, (await planes.call(1)).refused?.code]).toEqual([
    "RATE_LIMIT_EXCEEDED",
    "RATE_LIMIT_EXCEEDED",
  ]);
  for (const [place, { callId }] of first.entries()) planes.reservations[place % 2]?.release(callId);
  await planes.settle();
  expect(await planes.admitted(10)).toBe(4);
});

test("a plane that is gone leaves no parallel call behind for good", async () => {
  const planes = new Planes({ model: { maxParallelRequests: 4 } });
  expect(await planes.admitted(10)).toBe(4);
  planes.nowMs += 65 * 60_000;
  for (const [place, counted] of planes.counted.entries()) {
    counted.expire();
    planes.reservations[place]?.expire();
  }
  await planes.settle();
  expect(await planes.admitted(10)).toBe(4);
});

test("an edge gets a permit of the owner's limit, and what it does not use is free again", async () => {
  const far = 1 - (slotOf(limitName({ kind: "model", id: "m" }), SLOTS) % 2);
  const planes = new Planes({ model: { rpm: 161 } });
  const { callId, reserved } = await planes.call(far, { ahead: 50 });
  expect(reserved?.permit).toMatchObject({ requests: 10, lifeMs: 1_000 });
  expect(await planes.admitted(200)).toBe(150);
  planes.reservations[far]?.takeBack(callId, { requests: 4, tokens: 0 });
  await planes.settle();
  expect(await planes.admitted(10)).toBe(4);
});

test("calls that come at once are asked for together, and unlimited ones not at all", async () => {
  const planes = new Planes({ model: { rpm: 1_000 } });
  await planes.admitted(100);
  expect(planes.asked.length).toBeLessThanOrEqual(2);
  expect(planes.asked.reduce((sum, { calls }) => sum + calls, 0)).toBe(50);
  const free = new Planes({});
  expect(await free.admitted(20)).toBe(20);
  expect(free.asked).toEqual([]);
});

test("a call whose limits no plane can count is refused as unavailable, and holds nothing", async () => {
  const far = 1 - (slotOf(limitName({ kind: "model", id: "m" }), SLOTS) % 2);
  const planes = new Planes({ model: { rpm: 60 }, down: new AppError("UNAVAILABLE", "moves", { retryAfterSeconds: 1 }) });
  expect((await planes.call(far)).refused).toMatchObject({ code: "UNAVAILABLE", retryAfterSeconds: 1 });
  expect(planes.reservations[far]?.size).toBe(0);
});

test("no minute of a shared limit is exceeded, for any interleaving of calls, permits and times", async () => {
  const step = fc.record({
    place: fc.nat(2),
    calls: fc.integer({ min: 1, max: 12 }),
    ahead: fc.option(fc.integer({ min: 8, max: 30 }), { nil: undefined }),
    used: fc.nat(30),
    passMs: fc.integer({ min: 0, max: 9_000 }),
  });
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 120 }), fc.array(step, { maxLength: 25 }), async (rpm, steps) => {
      const planes = new Planes({ planes: 3, model: { rpm }, user: { rpm: rpm + 20 } });
      const made: number[] = [];
      for (const { place, calls, ahead, used, passMs } of steps) {
        planes.nowMs += passMs;
        const asked = ahead === undefined ? {} : { ahead };
        const answers = await Promise.all(Array.from({ length: calls }, () => planes.call(place, asked)));
        for (const answer of answers) made.push(...planes.use(place, answer, used));
        await planes.settle();
        expect(made.filter((atMs) => atMs > planes.nowMs - 59_000).length).toBeLessThanOrEqual(rpm);
      }
    }),
    { numRuns: 60 },
  );
});
