import { AppError } from "../../common/errors.ts";
import { silentLogger } from "../../common/logger.ts";
import { systemRandom } from "../../common/random.ts";
import { slotOf } from "../../common/slots.ts";
import { SettleRequest, type SlotOwners, type WatchResponse } from "../../proto/gen/tributary/access/v1/access.ts";
import { fakeClock } from "./clock-fixture.ts";
import { createPlanes, type PlaneClient } from "./planes.ts";
import type { WatchStream } from "./watch.ts";

const organizationOf = (slot: number) => Array.from({ length: 40 }, (_, n) => `org_${n}`).find((name) => slotOf(name, 2) === slot) ?? "";
const [ZERO, ONE] = [organizationOf(0), organizationOf(1)];
const WITHIN = { deadlineMs: 1000 };

function tableOf(owners: [number, number], epochs: [bigint, bigint] = [1n, 1n], addresses = ["a:1", "b:1"]): SlotOwners {
  return { planes: addresses.map((address) => ({ id: address, address })), owners, epochs: epochs.slice() };
}

/** A plane that notes what it is asked. */
class FakePlane {
  readonly asked: string[] = [];
  failing: AppError | undefined;
  isClosed = false;
  /** Sends a message on the watch. */
  say: (message: Partial<WatchResponse>) => void = () => {};

  readonly #note = (what: string) => {
    this.asked.push(what);
    if (this.failing) throw this.failing;
  };

  readonly client = {
    access: {
      lease: async ({ organizationId }: { organizationId: string }) => this.#note(`lease ${organizationId}`),
      reserveMany: async () => this.#note("reserve"),
      release: async () => this.#note("release"),
      settle: async ({ settlements, returns, endedEdges }: SettleRequest) => {
        this.#note(`settle ${settlements.length} ${returns.map(({ organizationId }) => organizationId).join()} ${endedEdges.join()}`);
        return { settled: BigInt(returns.length), repeatedBefore: 0n };
      },
      flushed: async () => this.#note("flushed"),
    },
    system: {},
    watch: ({ withoutChanges }: { withoutChanges: boolean }) => {
      this.#note(`watch ${withoutChanges}`);
      return this.#stream();
    },
    reconnect: () => this.#note("reconnect"),
    close: () => {
      this.isClosed = true;
    },
  } as unknown as PlaneClient;

  #stream(): WatchStream {
    const waiting: WatchResponse[] = [];
    let [wake, isOver] = [() => {}, false];
    this.say = (message) => {
      waiting.push({ changes: [], revision: 0n, resync: false, instance: "", noPrimary: false, ...message } as WatchResponse);
      wake();
    };
    const cancel = () => {
      isOver = true;
      wake();
    };
    return {
      cancel,
      async *[Symbol.asyncIterator]() {
        while (!isOver) {
          for (const message of waiting.splice(0)) yield message;
          if (isOver) return;
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
        }
      },
    };
  }
}

function open() {
  const clock = fakeClock();
  const [main, a, b] = [new FakePlane(), new FakePlane(), new FakePlane()];
  const flushes: string[] = [];
  const planes = createPlanes({
    control: main.client,
    connect: (address) => ({ "a:1": a.client, "b:1": b.client })[address],
    clock,
    random: systemRandom,
    logger: silentLogger,
    edgeId: "edge-1",
    flush: ({ flush, recall, organizationId }) => void flushes.push(`${flush} ${recall} ${organizationId}`),
  });
  const lease = (organizationId: string) =>
    planes.access.lease({ edgeId: "edge-1", organizationId, need: 0n, want: 0n, generation: 0n, released: 0n, free: 0n }, WITHIN);
  return { clock, main, a, b, planes, flushes, lease };
}

test("with one control plane every call goes to it, and no other connection is made", async () => {
  const { planes, main, a, lease } = open();
  await lease(ZERO);
  planes.take(tableOf([1, 1], [1n, 1n], ["a:1"]));
  await lease(ONE);
  expect(main.asked).toEqual([`lease ${ZERO}`, `lease ${ONE}`]);
  expect(a.asked).toEqual([]);
  expect([planes.laneOf(ONE), planes.division()]).toEqual(["", 0]);
  expect(planes.all()).toEqual([main.client]);
});

test("with several planes each organization's calls go to its owner, and every plane is watched for flushes", async () => {
  const { planes, main, a, b, lease, clock, flushes } = open();
  planes.take(tableOf([1, 2]));
  await clock.advance(0);
  await lease(ZERO);
  await lease(ONE);
  expect(a.asked).toEqual(["watch true", `lease ${ZERO}`]);
  expect(b.asked).toEqual(["watch true", `lease ${ONE}`]);
  expect(main.asked).toEqual([]);
  b.say({ flush: 7n, recall: ONE });
  b.say({ flush: 8n, flushOrganization: ZERO });
  await clock.advance(0);
  expect(flushes).toEqual([`7 ${ONE} undefined`, `8 undefined ${ZERO}`]);
  expect(planes.all()).toHaveLength(2);
  await planes.stop();
});

test("a report is divided by owner, and all owners hear of edges that ended", async () => {
  const { planes, a, b, clock } = open();
  planes.take(tableOf([1, 2]));
  await clock.advance(0);
  const returns = [ZERO, ONE, ONE].map((organizationId) => ({ organizationId, generation: 1n, released: 0n }));
  const answer = await planes.access.settle(SettleRequest.fromPartial({ edgeId: "edge-1", returns }), WITHIN);
  expect(answer.settled).toBe(3n);
  await planes.access.settle(SettleRequest.fromPartial({ edgeId: "edge-1", returns: returns.slice(0, 1), endedEdges: ["edge-0"] }), WITHIN);
  expect(a.asked).toEqual(["watch true", `settle 0 ${ZERO} `, `settle 0 ${ZERO} edge-0`]);
  expect(b.asked).toEqual(["watch true", `settle 0 ${ONE},${ONE} `, "settle 0  edge-0"]);
  await planes.stop();
});

test("an owner that does not answer is asked through another plane, but what it refuses is refused", async () => {
  const { planes, main, b, lease, clock } = open();
  planes.take(tableOf([1, 2]));
  await clock.advance(0);
  b.failing = new AppError("UNAVAILABLE", "gone");
  await lease(ONE);
  expect(main.asked).toEqual([`lease ${ONE}`]);
  b.failing = new AppError("TEAM_BLOCKED", "no");
  await expect(lease(ONE)).rejects.toMatchObject({ code: "TEAM_BLOCKED" });
  expect(main.asked).toHaveLength(1);
  await planes.stop();
});

test("while the other connection moves away from the plane that is gone, the call is repeated", async () => {
  const { planes, main, b, lease, clock } = open();
  planes.take(tableOf([1, 2]));
  await clock.advance(0);
  const gone = new AppError("UNAVAILABLE", "gone");
  b.failing = gone;
  main.failing = gone;
  const answer = lease(ONE);
  await clock.advance(1_000);
  main.failing = undefined;
  await clock.advance(1_000);
  await answer;
  expect(main.asked.length).toBeGreaterThan(1);
  await planes.stop();
});

test("the higher epoch says who owns a slot, also if an older message comes later; a plane that is gone is left", async () => {
  const { planes, a, b, lease, clock } = open();
  planes.take(tableOf([1, 2], [1n, 5n]));
  planes.take(tableOf([1, 1], [1n, 4n]));
  await clock.advance(0);
  await lease(ONE);
  expect(b.asked).toContain(`lease ${ONE}`);
  const before = planes.division();
  expect([before > 0, planes.laneOf(ONE)]).toEqual([true, "b:1"]);
  a.say({ owners: tableOf([1, 1], [1n, 6n], ["a:1"]) });
  await clock.advance(1000);
  expect([a.isClosed, b.isClosed]).toEqual([false, true]);
  expect([planes.division() > before, planes.laneOf(ONE)]).toEqual([true, "a:1"]);
  await lease(ONE);
  expect(a.asked).toContain(`lease ${ONE}`);
  await planes.stop();
});
