import { AppError } from "../../common/errors.ts";
import { silentLogger } from "../../common/logger.ts";
import type { LeaseReturn, SettleRequest } from "../../proto/gen/tributary/access/v1/access.ts";
import { settleWork } from "../access/clock-fixture.ts";
import { finalOf, openOn } from "./journal/journal-fixture.ts";
import { Shipper } from "./ship.ts";

const AWAY = new AppError("UNAVAILABLE", "away");

/** Control planes that note the calls they get. A plane that is down refuses; one that hangs answers when it is up again. */
class FakePlanes {
  /** The plane of each organization. */
  readonly owners: Record<string, string>;
  readonly down = new Set<string>();
  readonly hanging = new Map<string, (() => void)[]>();
  /** The calls that the ledger has, and how often it got each. */
  readonly ledger = new Map<string, number>();
  /** Each request: its plane and its calls. */
  readonly requests: string[] = [];
  readonly returned: string[] = [];
  readonly ended: string[] = [];
  version = 1;

  constructor(owners: Record<string, string>) {
    this.owners = owners;
  }

  readonly division = () => this.version;
  readonly laneOf = (organizationId: string) => this.owners[organizationId] ?? "";

  move(organizationId: string, plane: string): void {
    this.owners[organizationId] = plane;
    this.version++;
  }

  hang(plane: string): void {
    if (!this.hanging.has(plane)) this.hanging.set(plane, []);
  }

  answer(plane: string): void {
    const waiting = this.hanging.get(plane) ?? [];
    this.hanging.delete(plane);
    for (const release of waiting) release();
  }

  readonly settle = async ({ settlements, returns, endedEdges }: SettleRequest) => {
    const rows = settlements.flatMap(({ log }) => (log ? [log] : []));
    const planes = new Set([...rows, ...returns].map(({ organizationId }) => this.laneOf(organizationId)));
    this.requests.push([...planes].join());
    for (const plane of planes) {
      const hanging = this.hanging.get(plane);
      if (hanging) await new Promise<void>((resolve) => hanging.push(resolve));
      if (this.down.has(plane)) throw AWAY;
    }
    for (const { callId } of rows) this.ledger.set(callId, (this.ledger.get(callId) ?? 0) + 1);
    this.returned.push(...returns.map(({ organizationId }) => organizationId));
    this.ended.push(...endedEdges);
    return { settled: BigInt(rows.length), repeatedBefore: 0n };
  };
}

async function openLanes(owners: Record<string, string>, { endedEdges = [] as string[], leased = [] as string[] } = {}) {
  const planes = new FakePlanes(owners);
  const { journal, clock, disk } = await openOn(undefined, { sync: "process" });
  const shipper = new Shipper({
    journal,
    access: planes,
    owners: planes,
    clock,
    logger: silentLogger,
    edgeId: "e",
    returns: (isAsked = () => true): LeaseReturn[] =>
      leased.filter(isAsked).map((organizationId) => ({ organizationId, generation: 1n, released: 1n })),
    returned: () => {},
    leased: () => leased,
    endedEdges,
  });
  let calls = 0;
  /** Ends calls, one for each organization; returns their ids. */
  const end = async (...organizations: string[]) => {
    const ids: string[] = [];
    for (const organizationId of organizations) {
      const log = { ...finalOf(++calls), organizationId };
      ids.push(log.callId);
      await journal.final(log);
      shipper.wake();
    }
    await settleWork();
    return ids;
  };
  return { planes, journal, clock, disk, shipper, end };
}

/** Whether a promise has resolved. */
function watched(promise: Promise<void>) {
  const state = { done: false };
  void promise.then(() => {
    state.done = true;
  });
  return state;
}

test("while the calls of one control plane cannot be shipped, those of the others are", async () => {
  const { planes, journal, clock, end } = await openLanes({ x: "a", y: "b" });
  planes.down.add("a");
  const ids = await end("x", "y", "x", "y");
  await clock.advance(1_000);
  expect([...planes.ledger.keys()]).toEqual([ids[1], ids[3]]);
  planes.down.delete("a");
  await clock.advance(2_000);
  expect([...planes.ledger.keys()].sort()).toEqual([...ids].sort());
  expect([...planes.ledger.values()]).toEqual([1, 1, 1, 1]);
  expect(journal.pending()).toBe(0);
  expect(planes.requests.every((request) => !request.includes(","))).toBe(true);
});

test("the journal is acknowledged up to the oldest call that a lane still has, and a process that dies before leaves it to the next", async () => {
  const { planes, journal, clock, disk, end } = await openLanes({ x: "a", y: "b" });
  const [first] = await end("y");
  planes.hang("a");
  const [, ...later] = [...(await end("x", "y")), ...(await end("y"))];
  await clock.advance(1_000);
  expect([...planes.ledger.keys()]).toEqual([first, ...later]);
  expect(journal.pending()).toBe(3);
  await journal.close();
  const next = await openOn(disk, { sync: "process" });
  expect([...next.journal.unacknowledged()].map(({ log }) => log.organizationId)).toEqual(["x", "y", "y"]);
});

test("calls that wait in a lane move to the lane of their slot's new owner, in flight or not", async () => {
  const { planes, journal, clock, end } = await openLanes({ x: "a", y: "a", z: "b" });
  planes.hang("a");
  const ids = await end("x");
  ids.push(...(await end("y", "x", "z")));
  planes.move("x", "b");
  ids.push(...(await end("z")));
  await clock.advance(1_000);
  // The second call of x waited behind the first; the first is on its way, and y has no new owner.
  expect([...planes.ledger.keys()].sort()).toEqual([ids[2], ids[3], ids[4]].sort());
  planes.down.add("a");
  planes.answer("a");
  await clock.advance(2_000);
  expect([...planes.ledger.keys()]).toContain(ids[0]);
  expect(journal.pending()).toBe(4);
  planes.move("y", "b");
  await clock.advance(2_000);
  expect([...planes.ledger.keys()].sort()).toEqual([...ids].sort());
  expect([...planes.ledger.values()].every((times) => times === 1)).toBe(true);
  expect(journal.pending()).toBe(0);
});

test("of a batch that fails, the calls of slots with a new owner leave it for the lane of that owner", async () => {
  const { planes, journal, clock, end } = await openLanes({ x: "a", y: "a" });
  await end("x");
  planes.hang("a");
  const [x, y] = await end("x", "y");
  await clock.advance(260);
  planes.move("x", "b");
  planes.down.add("a");
  planes.answer("a");
  await clock.advance(1_000);
  expect([planes.ledger.has(x ?? ""), planes.ledger.has(y ?? "")]).toEqual([true, false]);
  planes.down.delete("a");
  await clock.advance(2_000);
  expect([[...planes.ledger.values()], journal.pending()]).toEqual([[1, 1, 1], 0]);
});

test("who waits for an organization does not wait for the lanes of others, and waits for its calls wherever they are", async () => {
  const { planes, clock, shipper, end } = await openLanes({ x: "a", y: "b" });
  planes.hang("a");
  await end("x", "y");
  const [ofX, ofY, all] = [watched(shipper.idle("x")), watched(shipper.idle("y")), watched(shipper.idle())];
  await clock.advance(100);
  expect([ofX.done, ofY.done, all.done]).toEqual([false, true, false]);
  // The new owner of x asks while its call is on its way to the old one, which then refuses it.
  planes.move("x", "b");
  planes.hang("b");
  const again = watched(shipper.idle("x"));
  planes.down.add("a");
  planes.answer("a");
  await clock.advance(1_000);
  expect([ofX.done, again.done, all.done]).toEqual([false, false, false]);
  planes.answer("b");
  await clock.advance(1_000);
  expect([ofX.done, again.done, all.done]).toEqual([true, true, true]);
  expect(planes.ledger.size).toBe(2);
});

test("calls that were shipped in one lane until there were several control planes go on in theirs", async () => {
  const { planes, journal, clock, shipper, end } = await openLanes({});
  planes.version = 0;
  planes.hang("");
  await end("x");
  await end("y", "x");
  const all = watched(shipper.idle());
  planes.move("x", "a");
  planes.move("y", "b");
  planes.hang("b");
  await end("x");
  await clock.advance(1_000);
  expect([planes.ledger.size, all.done]).toEqual([2, false]);
  planes.answer("");
  await clock.advance(1_000);
  expect([planes.ledger.size, all.done]).toEqual([3, false]);
  planes.answer("b");
  await clock.advance(1_000);
  expect([planes.ledger.size, all.done, journal.pending()]).toEqual([4, true, 0]);
});

test("one blocked lane holds at most ten thousand calls in memory; the rest is read when it has shipped some", async () => {
  const { planes, journal, clock, end } = await openLanes({ x: "a", y: "b" });
  planes.hang("a");
  await end(...Array.from({ length: 10_000 }, () => "x"), "y");
  await clock.advance(1_000);
  expect(planes.ledger.size).toBe(0);
  planes.answer("a");
  await clock.advance(5_000);
  expect([planes.ledger.size, journal.pending()]).toEqual([10_001, 0]);
});

test("each lane returns the credit of its own leases, and all returns reach the new owner when owners change", async () => {
  const { planes, clock, shipper } = await openLanes({ x: "a", y: "b" }, { leased: ["x", "y"] });
  shipper.wake();
  await clock.advance(1_000);
  expect(planes.returned.sort()).toEqual(["x", "y"]);
  planes.down.add("a");
  shipper.wake({ reportReturns: true });
  await clock.advance(1_000);
  expect(planes.returned.sort()).toEqual(["x", "y", "y"]);
  planes.move("x", "b");
  await clock.advance(2_000);
  expect(planes.returned.filter((name) => name === "x").length).toBeGreaterThan(1);
  expect(planes.requests.every((request) => !request.includes(","))).toBe(true);
});

test("leases of earlier processes end when every lane has shipped the calls of those processes", async () => {
  const { planes, clock, end } = await openLanes({ x: "a", y: "b" }, { endedEdges: ["edge-0"] });
  planes.hang("a");
  await end("x", "y");
  await end("y");
  await clock.advance(1_000);
  expect([planes.ledger.size, planes.ended]).toEqual([2, []]);
  planes.answer("a");
  await clock.advance(1_000);
  expect(planes.ended).toEqual(["edge-0"]);
});

test("whatever planes fail and however owners change, the ledger gets every call, and the journal never forgets one before", async () => {
  for (let seed = 1; seed <= 40; seed++) {
    let state = seed * 2_654_435_761;
    const random = (below: number) => {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
      return Math.floor((state / 2 ** 32) * below);
    };
    const organizations = ["u", "v", "w", "x"];
    const names = ["", "a", "b", "c"];
    const { planes, journal, clock, shipper, end } = await openLanes({ u: "a", v: "b", w: "c", x: "a" });
    const all: string[] = [];
    const steps = [
      async () => void all.push(...(await end(...Array.from({ length: 1 + random(5) }, () => organizations[random(4)] ?? "")))),
      async () => planes.move(organizations[random(4)] ?? "", names[random(4)] ?? ""),
      async () => void planes.down.add(names[random(4)] ?? ""),
      async () => void planes.down.delete(names[random(4)] ?? ""),
      async () => planes.hang(names[random(4)] ?? ""),
      async () => planes.answer(names[random(4)] ?? ""),
      async () => clock.advance(random(600)),
    ];
    for (let step = 0; step < 60; step++) {
      await steps[random(steps.length)]?.();
      const waiting = new Set([...journal.unacknowledged()].map(({ log }) => log.callId));
      expect(all.filter((id) => !planes.ledger.has(id) && !waiting.has(id))).toEqual([]);
    }
    planes.down.clear();
    for (const name of names) planes.answer(name);
    const idle = watched(shipper.idle());
    await clock.advance(20_000);
    expect([seed, idle.done, planes.ledger.size, journal.pending()]).toEqual([seed, true, all.length, 0]);
  }
});
