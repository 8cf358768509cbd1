import { SettleRequest } from "../../../proto/gen/tributary/access/v1/access.ts";
import { UsageLog } from "../../../proto/gen/tributary/usage/v1/usage.ts";
import { encodedRow, encodeSettleRequest } from "./settle-request.ts";

test("a settlement sends the bytes that the generated encoder makes", () => {
  const log = UsageLog.fromPartial({
    callId: "call_1",
    createdAt: new Date(1_700_000_000_000),
    cost: 7n,
    tags: ["a"],
    usage: { total: 3n },
  });
  const request = SettleRequest.fromPartial({
    settlements: [{ log, leaseGeneration: 9_007_199_254_740_993n }, { log, leaseGeneration: 0n }, {}],
    edgeId: "edge-1",
    returns: [{ organizationId: "org_1" }],
    endedEdges: ["edge-0"],
  });
  expect(encodeSettleRequest(request).equals(SettleRequest.encode(request).finish())).toBe(true);
});

test("a row is encoded once", () => {
  const log = UsageLog.fromPartial({ callId: "call_1" });
  expect(encodedRow(log)).toBe(encodedRow(log));
});
