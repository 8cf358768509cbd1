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
