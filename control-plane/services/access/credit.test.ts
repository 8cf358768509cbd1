import { SettleRequest } from "../../../proto/gen/tributary/access/v1/access.ts";
import { NotOwner } from "../../domain/not-owner.ts";
import { reportedCall } from "../../proof/ledger-fixture.ts";
import { openPlatform, type Platform } from "../platform-fixture.ts";
import { usageMessage } from "../usage/messages.ts";
import { creditHandlers } from "./credit.ts";

let platform: Platform;
beforeEach(async () => {
  platform = await openPlatform();
});
afterEach(() => platform.close());

const report = (id: string) =>
  SettleRequest.fromPartial({
    settlements: [{ log: usageMessage(reportedCall(id, 5n, { organizationId: platform.organization.id })) }],
    edgeId: "edge",
  });

test("a report that is settled is released, because objects of the gRPC server may outlive the call", async () => {
  const request = report("call_1");
  expect(await creditHandlers(platform.deps).settle(request, platform.as("anonymous"))).toEqual({ settled: 1n, repeatedBefore: 0n });
  expect(request.settlements).toEqual([]);
  // The edge did not get the answer.
  expect(await creditHandlers(platform.deps).settle(report("call_1"), platform.as("anonymous"))).toEqual({
    settled: 0n,
    repeatedBefore: 1n,
  });
});

test("a report that another control plane settles keeps its calls", async () => {
  const request = report("call_1");
  const settler = { settle: async () => Promise.reject(new NotOwner(0)) } as unknown as Platform["deps"]["settler"];
  await expect(creditHandlers({ ...platform.deps, settler }).settle(request, platform.as("anonymous"))).rejects.toThrow(NotOwner);
  expect(request.settlements.map(({ log }) => log?.callId)).toEqual(["call_1"]);
});
