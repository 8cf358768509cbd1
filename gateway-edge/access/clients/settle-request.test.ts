import { SettleRequest } from "../../../proto/gen/tributary/access/v1/access.ts";
import { UsageLog } from "../../../proto/gen/tributary/usage/v1/usage.ts";
import { type EncodedSettlement, encodeRow, encodeSettleRequest } from "./settle-request.ts";

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

test("a row that the journal has encoded is sent as it is", () => {
  const settlement: EncodedSettlement = { log: UsageLog.fromPartial({ callId: "call_1" }), leaseGeneration: 0n, row: Buffer.from([8, 1]) };
  const request = SettleRequest.fromPartial({});
  expect([...encodeSettleRequest({ ...request, settlements: [settlement] })]).toEqual([10, 4, 10, 2, 8, 1]);
});

test("a row that cannot be encoded leaves nothing in the next one", () => {
  const log = UsageLog.fromPartial({ callId: "call_1", usage: { total: 3n } });
  expect(() => encodeRow(UsageLog.fromPartial({ callId: "call_2", usage: { total: 2n ** 70n } }))).toThrow("too large");
  expect(encodeRow(log).equals(UsageLog.encode(log).finish())).toBe(true);
});
