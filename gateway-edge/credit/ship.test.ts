import { AppError } from "../../common/errors.ts";
import { silentLogger } from "../../common/logger.ts";
import { settleWork } from "../access/clock-fixture.ts";
import { finalOf, openOn } from "./journal/journal-fixture.ts";
import { Shipper, type ShipperDeps } from "./ship.ts";

test("a shipper that is stopped while the control plane is away leaves what it could not bring to the next process", async () => {
  const { journal, clock, shipper } = await openShipper(() => Promise.reject(new AppError("UNAVAILABLE", "away")));
  await journal.final(finalOf(1));
  shipper.wake();
  shipper.stop();
  await settleWork();
  await clock.advance(10_000);
  await shipper.idle();
  expect([...journal.unacknowledged()].map(({ callId }) => callId)).toEqual([finalOf(1).callId]);
});

test("calls that follow each other go together: after a quarter of a second, when a batch is full, or when somebody waits", async () => {
  const batches: number[] = [];
  const { clock, shipper, end } = await openShipper(async ({ settlements }) => {
    batches.push(settlements.length);
    return { settled: BigInt(settlements.length), repeatedBefore: 0n };
  });
  await end(1);
  expect(batches).toEqual([1]);
  await end(3);
  await clock.advance(240);
  expect(batches).toEqual([1]);
  await clock.advance(20);
  expect(batches).toEqual([1, 3]);
  await end(399);
  expect(batches).toEqual([1, 3]);
  await end(1);
  expect(batches).toEqual([1, 3, 400]);
  await end(2);
  await shipper.idle();
  expect(batches).toEqual([1, 3, 400, 2]);
});

test("under a steady load what ends while a batch is on its way waits for company too", async () => {
  const batches: number[] = [];
  let answer = () => {};
  const { journal, clock, shipper, end } = await openShipper(async ({ settlements }) => {
    batches.push(settlements.length);
    await new Promise<void>((resolve) => {
      answer = resolve;
    });
    return { settled: BigInt(settlements.length), repeatedBefore: 0n };
  });
  const arrive = async () => {
    answer();
    await settleWork();
  };
  await end(1);
  await end(40);
  await arrive();
  await end(40);
  expect(batches).toEqual([1]);
  await clock.advance(260);
  expect(batches).toEqual([1, 80]);
  await end(900);
  await arrive();
  await arrive();
  await arrive();
  expect(batches).toEqual([1, 80, 400, 400]);
  await clock.advance(260);
  expect(batches).toEqual([1, 80, 400, 400, 100]);
  await arrive();
  await shipper.idle();
  expect(journal.pending()).toBe(0);
});

test("a shipper that fell behind sends larger batches until it has caught up", async () => {
  const batches: number[] = [];
  let answer = () => {};
  const { shipper, end } = await openShipper(async ({ settlements }) => {
    batches.push(settlements.length);
    await new Promise<void>((resolve) => {
      answer = resolve;
    });
    return { settled: BigInt(settlements.length), repeatedBefore: 0n };
  });
  await end(1);
  await end(4_000);
  for (let batch = 0; batch < 4; batch++) {
    answer();
    await settleWork();
  }
  expect(batches).toEqual([1, 1_600, 1_600, 400, 400]);
  answer();
  await shipper.idle();
});

test("an edge ends the leases of its own certificate and of the time before there were certificates, not those of others", async () => {
  const ended: string[][] = [];
  const { end } = await openShipper(
    async ({ settlements, endedEdges }) => {
      ended.push([...endedEdges]);
      return { settled: BigInt(settlements.length), repeatedBefore: 0n };
    },
    { edgeId: "edge-1:edge-0-c", endedEdges: ["edge-1:edge-0-a", "edge-0-b", "edge-10:edge-0-d", "edge-2:edge-0-e"] },
  );
  await end(1);
  expect(ended).toEqual([[], ["edge-1:edge-0-a", "edge-0-b"]]);
});

async function openShipper(settle: ShipperDeps["access"]["settle"], more: Partial<ShipperDeps> = {}) {
  const { journal, clock } = await openOn(undefined, { sync: "process" });
  const shipper = new Shipper({
    journal,
    access: { settle },
    clock,
    logger: silentLogger,
    edgeId: "e",
    returns: () => [],
    returned: () => {},
    leased: () => [],
    endedEdges: [],
    ...more,
  });
  let calls = 0;
  const end = async (count: number) => {
    for (let each = 0; each < count; each++) {
      await journal.final(finalOf(++calls));
      shipper.wake();
    }
    await settleWork();
  };
  return { journal, clock, shipper, end };
}
