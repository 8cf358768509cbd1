import { ReportEdgeRequest } from "../../proto/gen/tributary/system/v1/system.ts";
import { EdgeReports } from "./edge-reports.ts";

const report = (id: string, inFlight = 0n) => ReportEdgeRequest.fromPartial({ id, inFlight });

test("the last word of an edge counts, and one that is silent for a minute is forgotten", () => {
  const reports = new EdgeReports();
  reports.take(report("edge-1", 1n), 1000);
  reports.take(report("edge-1", 2n), 4000);
  reports.take(report("edge-2"), 50_000);
  expect(reports.recent(60_000).get("edge-1")).toMatchObject({ seenAt: 4000, report: { inFlight: 2n } });
  expect([...reports.recent(64_001).keys()]).toEqual(["edge-2"]);
});

test("invented ids are not stored without bound", () => {
  const reports = new EdgeReports();
  for (let index = 0; index < 5000; index++) reports.take(report(`edge-${index}`), 1000);
  expect(reports.recent(1000).size).toBe(4096);
  reports.take(report("edge-7", 9n), 2000);
  expect(reports.recent(2000).get("edge-7")?.report.inFlight).toBe(9n);
});
