import { fakeDisk } from "../../common/disk-fixture.ts";
import { AppError } from "../../common/errors.ts";
import { silentLogger } from "../../common/logger.ts";
import type {
  LeaseRequest,
  RateState,
  ReleaseRequest,
  ReserveManyRequest,
  SettleRequest,
} from "../../proto/gen/tributary/access/v1/access.ts";
import { fakeClock, settleWork } from "../access/clock-fixture.ts";
import { finalOf, intentOf } from "./journal/journal-fixture.ts";
import { openJournal } from "./journal/open-journal.ts";
import { LeasedCredit, type LeasedCreditDeps } from "./leased-credit.ts";

/** A control plane that counts what it is asked, over a journal on a disk that is no disk. */
async function open({
  disk = fakeDisk(),
  edgeId = "e",
  owners,
}: { disk?: ReturnType<typeof fakeDisk>; edgeId?: string } & Pick<LeasedCreditDeps, "owners"> = {}) {
  const clock = fakeClock();
  const state = {
    rpcs: 0,
    settled: new Map<string, { cost: bigint; generation: bigint }>(),
    returns: [] as SettleRequest["returns"],
    failure: undefined as AppError | undefined,
    refused: new Set<string>(),
    generation: 1n,
    granted: 0n,
    /** What a generation may be given. */
    most: undefined as bigint | undefined,
    isEmpty: false,
    isBlocked: false,
    onSettled: () => {},
    /** Organizations whose control plane does not answer. */
    away: new Set<string>(),
    released: [] as string[],
    reserved: 0,
    unused: 0n,
    rate: undefined as RateState | undefined,
    /** How many calls may run at once under a permit. */
    parallel: undefined as number | undefined,
    /** By permit: the parallel calls that it returned. */
    parallelReturned: new Map<string, number>(),
    /** What was settled, and which edges were said to be dead, in order. */
    received: [] as string[],
  };
  const ask = async () => {
    state.rpcs++;
    await Promise.resolve();
    if (state.failure) throw state.failure;
  };
  const access = {
    lease: async ({ want }: LeaseRequest) => {
      await ask();
      if (!state.isEmpty) state.granted += want;
      if (state.most !== undefined && state.granted > state.most) state.granted = state.most;
      return { generation: state.generation, granted: state.granted, lifeMs: 45_000, isStrict: false, isBlocked: state.isBlocked };
    },
    reserve: () => Promise.reject(new Error("no call is refused because of what may be over")),
    reserveMany: async ({ reservations }: ReserveManyRequest) => {
      await ask();
      return {
        outcomes: reservations.map(({ callId, worstCase, aheadRequests }) => {
          state.reserved++;
          const granted = { requests: aheadRequests, tokens: undefined, lifeMs: 1000, parallel: state.parallel };
          const permit = aheadRequests > 0n && state.rate ? granted : undefined;
          if (permit?.parallel !== undefined) state.parallelReturned.set(callId, 0);
          return {
            outcome: { $case: "reserved" as const, value: { reserved: worstCase, rate: state.rate, permit } },
            isPerhapsOver: false,
          };
        }),
      };
    },
    settle: async ({ settlements, returns, endedEdges }: SettleRequest) => {
      await ask();
      if (settlements.some(({ log }) => log && state.away.has(log.organizationId))) throw new AppError("UNAVAILABLE", "away");
      if (settlements.length > 0) state.onSettled();
      state.received.push(...settlements.map(() => "a call"), ...endedEdges);
      const bad = settlements.find(({ log }) => log && state.refused.has(log.callId));
      if (bad) throw new AppError("ALREADY_EXISTS", "other content");
      for (const { log, leaseGeneration } of settlements) {
        if (log) state.settled.set(log.callId, { cost: log.cost, generation: leaseGeneration });
      }
      state.returns = returns;
      return { settled: 0n, repeatedBefore: 0n };
    },
    release: async ({ callId, unused }: ReleaseRequest) => {
      if (state.failure) throw state.failure;
      if (unused) state.unused += unused.requests;
      if (unused?.parallel !== undefined) state.parallelReturned.set(callId, unused.parallel);
      if (unused) return {};
      state.released.push(callId);
      return {};
    },
  };
  const onBroken = (error: unknown) => {
    throw error;
  };
  const journal = await openJournal({ disk, folder: "/journal", edgeId, sync: "process", clock, logger: silentLogger, onBroken });
  const credit = new LeasedCredit({ access, journal, clock, logger: silentLogger, edgeId, owners });
  return { credit, journal, clock, state, disk };
}

const input = (index: number, { isLimited = false } = {}) => ({ intent: intentOf(index), model: "m", tokens: 3, isLimited });

const range = (from: number, to: number) => Array.from({ length: to - from }, (_, index) => from + index);

test("an edge without calls has no timer of its own for credit: neither before the first call nor after leases and permits are over", async () => {
  const { credit, clock, state } = await open();
  expect(clock.waiting()).toBe(0);
  state.rate = { limitRequests: 6000, remainingRequests: 5000, resetSeconds: 60 };
  for (let call = 0; call < 30; call++) {
    await credit.reserve(input(call, { isLimited: true }));
    await credit.settle(finalOf(call));
    await clock.advance(10);
  }
  expect(clock.waiting()).toBeGreaterThan(0);
  await clock.advance(120_000);
  expect(clock.waiting()).toBe(0);
  expect(credit.leases()).toMatchObject({ usable: 0, free: 0n, held: 0n });
  await credit.reserve(input(30));
  expect(clock.waiting()).toBeGreaterThan(0);
});

test("calls under a rate limit are admitted from a slice of it, which goes back when it is not used", async () => {
  const { credit, clock, state } = await open();
  state.rate = { limitRequests: 6000, remainingRequests: 5000, resetSeconds: 60 };
  const remaining: (number | undefined)[] = [];
  for (let call = 0; call < 200; call++) {
    const { rate } = await credit.reserve(input(call, { isLimited: true }));
    remaining.push(rate?.remainingRequests);
    await credit.settle(finalOf(call));
    await clock.advance(10);
  }
  // The first few by themselves, then a slice for every second; each call gets the remaining limit.
  expect(state.reserved).toBeLessThan(40);
  expect(remaining.slice(8, 11)).toEqual([4999, 4998, 4997]);
  await clock.advance(2000);
  expect(state.unused).toBeGreaterThan(0n);
  expect([...state.settled.values()].filter(({ generation }) => generation === 1n).length).toBe(200 - state.reserved);
});

test("calls that come while a slice is requested wait for it, and only those that it has no room for are reserved by themselves", async () => {
  const { credit, clock, state } = await open();
  state.rate = { limitRequests: 6000, remainingRequests: 5000, resetSeconds: 60 };
  const begin = (calls: readonly number[]) => Promise.all(calls.map((call) => credit.reserve(input(call, { isLimited: true }))));
  await begin(range(0, 40));
  // The slice expires; the first of these calls requests the next one.
  await clock.advance(1000);
  const reserved = state.reserved;
  await begin(range(40, 80));
  expect(state.reserved - reserved).toBe(1);
  // The next slice is as large as the second before, 40 calls; the request itself is another one.
  await clock.advance(1000);
  const before = state.reserved;
  await begin(range(80, 130));
  expect(state.reserved - before).toBe(10);
  await credit.close();
});

test("where a slice was refused or its request failed, calls do not wait for the next one", async () => {
  const { credit, clock, state } = await open();
  state.rate = { limitRequests: 6000, remainingRequests: 5000, resetSeconds: 60 };
  const begin = (calls: readonly number[]) => Promise.allSettled(calls.map((call) => credit.reserve(input(call, { isLimited: true }))));
  await begin(range(0, 40));
  await clock.advance(1000);
  state.failure = new AppError("RATE_LIMIT_EXCEEDED", "reached");
  const [first, ...others] = await begin(range(40, 80));
  expect(first?.status).toBe("rejected");
  // They asked by themselves, and each has its own answer.
  expect(new Set(others.map(({ status }) => status))).toEqual(new Set(["rejected"]));
  const rpcs = state.rpcs;
  await begin(range(80, 120));
  // One message for all of them.
  expect(state.rpcs - rpcs).toBe(1);
  state.failure = undefined;
  await credit.close();
});

test("calls under a limit of parallel calls run in the slots of a permit, and every slot is returned once its call has ended", async () => {
  const { credit, clock, state } = await open();
  state.rate = { limitRequests: 6000, remainingRequests: 5000, resetSeconds: 60 };
  state.parallel = 4;
  const begin = (call: number) => credit.reserve(input(call, { isLimited: true }));
  for (let call = 0; call < 8; call++) await begin(call);
  const [permit = ""] = [...state.parallelReturned.keys()];
  const byCall = state.reserved;
  for (let call = 8; call < 12; call++) await begin(call);
  expect(state.reserved).toBe(byCall);
  // All four slots are in use: the next call is reserved by itself, and a slot that is free again serves a call.
  await credit.settle(finalOf(8));
  await begin(12);
  expect(state.reserved).toBe(byCall);
  await begin(13);
  expect(state.reserved).toBe(byCall + 1);
  await clock.advance(2000);
  expect(state.parallelReturned.get(permit)).toBe(0);
  await credit.settle(finalOf(9));
  // A report that is lost is repeated.
  state.failure = new AppError("UNAVAILABLE", "away");
  await clock.advance(300);
  expect(state.parallelReturned.get(permit)).toBe(0);
  state.failure = undefined;
  await clock.advance(300);
  expect(state.parallelReturned.get(permit)).toBe(1);
  for (const call of [...Array(8).keys(), 10, 11, 12, 13]) await credit.settle(finalOf(call));
  await credit.close();
  expect(new Set(state.parallelReturned.values())).toEqual(new Set([4]));
});

test("in steady state a call makes no RPC of its own: hundreds of calls, a handful of questions", async () => {
  const { credit, clock, state } = await open();
  for (let call = 0; call < 500; call++) {
    await credit.reserve(input(call));
    await credit.settle(finalOf(call));
    await clock.advance(2);
  }
  await clock.advance(100);
  expect(state.settled.size).toBe(500);
  // Leases, and a batch of settlements for every few milliseconds: the fewer the busier.
  expect(state.rpcs).toBeLessThan(120);
  expect([...state.settled.values()].every(({ generation }) => generation === 1n)).toBe(true);
});

test("what is left over goes back with the settlement", async () => {
  const { credit, clock, state } = await open();
  const { reserved } = await credit.reserve(input(1));
  await credit.settle(finalOf(1));
  await clock.advance(20);
  const { cost } = state.settled.get(intentOf(1).callId) ?? { cost: 0n };
  expect(state.returns).toMatchObject([{ generation: 1n, released: reserved - cost }]);
});

test("an edge that stops in the middle of traffic returns all credit that no call holds", async () => {
  const { credit, state, clock } = await open();
  for (let call = 0; call < 20; call++) {
    await credit.reserve(input(call));
    await credit.settle(finalOf(call));
    await clock.advance(50);
  }
  await credit.close();
  const spent = [...state.settled.values()].reduce((sum, { cost }) => sum + cost, 0n);
  expect(state.settled.size).toBe(20);
  expect(state.returns).toMatchObject([{ released: state.granted - spent }]);
});

test("an answer does not wait for the ledger, and what the control plane could not take it gets later, once", async () => {
  const { credit, clock, state } = await open();
  await credit.reserve(input(1));
  state.failure = new AppError("UNAVAILABLE", "away");
  await credit.settle(finalOf(1));
  await clock.advance(3000);
  expect([state.settled.size, credit.pending()]).toEqual([0, 1]);
  state.failure = undefined;
  await clock.advance(3000);
  expect([state.settled.size, credit.pending()]).toEqual([1, 0]);
});

test("under load a batch waits for company, but not when somebody waits for the ledger", async () => {
  const { credit, clock, state } = await open();
  for (const call of [1, 2]) {
    await credit.reserve(input(call));
    await credit.settle(finalOf(call));
    await clock.advance(10);
  }
  // The first went alone, the second gathers.
  expect(state.settled.size).toBe(1);
  await credit.settled();
  expect([state.settled.size, credit.pending()]).toEqual([2, 0]);
});

test("a refused settlement does not hold up the others", async () => {
  const { credit, clock, state } = await open();
  state.refused.add(intentOf(2).callId);
  for (const call of [1, 2, 3]) {
    await credit.reserve(input(call));
    await credit.settle(finalOf(call));
  }
  await clock.advance(1000);
  expect([...state.settled.keys()]).toEqual([intentOf(1).callId, intentOf(3).callId]);
  expect(credit.pending()).toBe(0);
});

test("a call under a limit is reserved alone, and its settlement names no lease", async () => {
  const { credit, clock, state } = await open();
  await credit.reserve(input(1, { isLimited: true }));
  expect(state.granted).toBe(0n);
  await credit.settle(finalOf(1));
  await clock.advance(20);
  expect(state.settled.get(intentOf(1).callId)).toMatchObject({ generation: 0n });
});

test("a process that died leaves nothing unsettled: ended calls and cut ones reach the ledger from its journal", async () => {
  const first = await open();
  for (const call of [2, 3]) await first.credit.reserve(input(call));
  first.state.failure = new AppError("UNAVAILABLE", "away");
  await first.credit.settle(finalOf(2));
  const second = await open({ disk: first.disk.afterKill() });
  await settleWork();
  expect([...second.state.settled.keys()].sort()).toEqual([intentOf(2).callId, intentOf(3).callId].sort());
  expect(second.state.settled.get(intentOf(3).callId)).toMatchObject({ cost: 0n });
});

test("a full disk refuses new calls with a reason and is over by itself; nothing that ended meanwhile is lost", async () => {
  const { credit, clock, state, disk } = await open();
  await credit.reserve(input(1));
  await settleWork();
  disk.capacity = 0;
  const ending = credit.settle(finalOf(1));
  await settleWork();
  expect(credit.trouble()).toMatch(/disk/);
  expect(() => credit.reserve(input(2))).toThrow(expect.objectContaining({ code: "UNAVAILABLE" }));
  disk.capacity = Number.POSITIVE_INFINITY;
  await clock.advance(2000);
  await ending;
  await clock.advance(100);
  expect(credit.trouble()).toBeUndefined();
  expect(state.settled.has(intentOf(1).callId)).toBe(true);
  await credit.reserve(input(2));
});

test("the process after a dead one settles its calls, and then reports that its leases end", async () => {
  const { credit, disk } = await open({ edgeId: "dead" });
  await credit.reserve(input(1));
  await settleWork();
  const next = await open({ disk, edgeId: "next" });
  await settleWork();
  expect(next.state.received).toEqual(["a call", "dead"]);
});

test("a control plane that is away is notified of dead edges when it is back", async () => {
  const { credit, disk } = await open({ edgeId: "dead" });
  await credit.settle(finalOf(1));
  await settleWork();
  const next = await open({ disk, edgeId: "next" });
  next.state.failure = new AppError("UNAVAILABLE", "away");
  await settleWork();
  next.state.failure = undefined;
  await next.clock.advance(5000);
  expect(next.state.received.filter((each) => each === "dead")).toHaveLength(1);
});

test("refused for want of credit, a call has what ended brought to the ledger first, and learns that the team is blocked by it", async () => {
  const { credit, state } = await open();
  await credit.reserve(input(1));
  state.isEmpty = true;
  await credit.settle(finalOf(1));
  const refused = credit.reserve({ ...input(2), intent: { ...intentOf(2), worstCase: 10n ** 18n } });
  const checked = expect(refused).rejects.toMatchObject({ code: "TEAM_BLOCKED" });
  // The settlement takes the balance below zero.
  state.onSettled = () => {
    state.isBlocked = true;
  };
  await checked;
});

/** One call runs, its lease has run out, and the next one may be given so much. */
async function withLeaseRunOut({ most }: { most: (reserved: bigint) => bigint }) {
  const opened = await open();
  const { credit, clock, state } = opened;
  const { reserved } = await credit.reserve(input(1));
  state.failure = new AppError("UNAVAILABLE", "away");
  await clock.advance(60_000);
  Object.assign(state, { failure: undefined, generation: 2n, granted: 0n, most: most(reserved) });
  return { ...opened, reserved };
}

test("the credit of a call whose lease ran out is set aside again before it gets more: the same credit is not spent twice", async () => {
  const none = await withLeaseRunOut({ most: (reserved) => reserved });
  expect(await none.credit.grow(input(1), 50n)).toBe(0n);
  const some = await withLeaseRunOut({ most: (reserved) => reserved + 30n });
  expect(await some.credit.grow(input(1), 50n)).toBe(30n);
  const all = await withLeaseRunOut({ most: (reserved) => reserved * 9n });
  expect(await all.credit.grow(input(1), 50n)).toBe(50n);
});

test("a call that ends while it waits for more leaves nothing set aside", async () => {
  const { credit, clock, state } = await open();
  await credit.reserve(input(1));
  const growing = credit.grow(input(1), 50n);
  await credit.settle(finalOf(1));
  expect(await growing).toBe(0n);
  await clock.advance(5000);
  const { cost } = state.settled.get(intentOf(1).callId) ?? { cost: 0n };
  expect(state.returns).toMatchObject([{ released: state.granted - cost }]);
});

test("credit that is closed ships the calls of every control plane, also of one that answers late", async () => {
  const { credit, journal, clock, state } = await open({ owners: { laneOf: (name) => `plane of ${name}`, division: () => 1 } });
  const logs = ["x", "y"].map((organizationId, index) => ({ ...finalOf(index), organizationId }));
  state.away.add("x");
  await Promise.all(logs.map((log) => credit.settle(log)));
  let isClosed = false;
  const closing = credit.close().then(() => {
    isClosed = true;
  });
  await clock.advance(3_000);
  expect([[...state.settled.keys()], isClosed]).toEqual([[logs[1]?.callId], false]);
  state.away.delete("x");
  await clock.advance(3_000);
  await closing;
  expect([state.settled.size, journal.pending()]).toEqual([2, 0]);
});
