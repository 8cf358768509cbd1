import { silentLogger } from "../../common/logger.ts";
import { ReportEdgeRequest } from "../../proto/gen/tributary/system/v1/system.ts";
import { fakeClock } from "./clock-fixture.ts";
import { startReports } from "./report-edge.ts";

test("an edge reports at once and every few seconds, also after a lost report, and not after it is stopped", async () => {
  const clock = fakeClock();
  const reported: bigint[] = [];
  let [calls, isLost] = [0n, false];
  const reports = startReports({
    clock,
    logger: silentLogger,
    read: () => ReportEdgeRequest.fromPartial({ id: "edge-1", inFlight: calls++ }),
    system: {
      reportEdge: async ({ inFlight }) => {
        if (isLost) throw new Error("no connection");
        reported.push(inFlight);
        return {};
      },
    },
  });
  await clock.advance(0);
  expect(reported).toEqual([0n]);
  isLost = true;
  await clock.advance(3000);
  isLost = false;
  await clock.advance(3000);
  expect(reported).toEqual([0n, 2n]);
  reports.stop();
  await clock.advance(10_000);
  expect(reported).toEqual([0n, 2n]);
});
