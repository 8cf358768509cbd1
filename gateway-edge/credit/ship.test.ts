import { AppError } from "../../common/errors.ts";
import { silentLogger } from "../../common/logger.ts";
import { settleWork } from "../access/clock-fixture.ts";
import { finalOf, openOn } from "./journal/journal-fixture.ts";
import { Shipper } from "./ship.ts";

test("a shipper that is stopped while the control plane is away leaves what it could not bring to the next process", async () => {
  const { journal, clock } = await openOn(undefined, { sync: "process" });
  const settled: string[] = [];
  const shipper = new Shipper({
    journal,
    access: { settle: () => Promise.reject(new AppError("UNAVAILABLE", "away")) },
    clock,
    logger: silentLogger,
    edgeId: "e",
    generationOf: () => 0n,
    returns: () => [],
    settled: (callId) => void settled.push(callId),
    endedEdges: [],
  });
  await journal.final(finalOf(1));
  shipper.wake();
  shipper.stop();
  await settleWork();
  await clock.advance(10_000);
  await shipper.idle();
  expect([journal.pending(), settled]).toEqual([1, []]);
});

test("calls that follow each other go together: after a quarter of a second, when a batch is full, or when somebody waits", async () => {
  const { journal, clock } = await openOn(undefined, { sync: "process" });
  const batches: number[] = [];
  const shipper = new Shipper({
    journal,
    access: {
      settle: async ({ settlements }) => {
        batches.push(settlements.length);
        return { settled: BigInt(settlements.length), repeatedBefore: 0n };
      },
    },
    clock,
    logger: silentLogger,
    edgeId: "e",
    generationOf: () => 0n,
    returns: () => [],
    settled: () => {},
    endedEdges: [],
  });
  let calls = 0;
  const end = async (count: number) => {
    for (let each = 0; each < count; each++) {
      await journal.final(finalOf(++calls));
      shipper.wake();
    }
    await settleWork();
  };
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
