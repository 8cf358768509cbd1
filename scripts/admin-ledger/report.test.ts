import { type ReplayPage, replayReport, type Verified, verifyReport } from "./report.ts";

const verified: Verified = {
  ok: true,
  entries: 6n,
  sum: 0n,
  lastSeq: 6n,
  hash: "ab",
  anchors: 2n,
  accounts: 4n,
  usageRows: 5n,
  rollups: 5n,
  firstBad: null,
};

test("an invalid ledger is reported with the record, the kind and the reason", () => {
  expect(verifyReport(verified)).toMatchObject({ ok: true, lines: expect.arrayContaining(["the ledger is valid"]) });
  const firstBad = { seq: 3n, record: "entry 3", kind: "chain", reason: "the hash does not follow" };
  expect(verifyReport({ ...verified, ok: false, firstBad })).toMatchObject({
    ok: false,
    lines: expect.arrayContaining(["FIRST INVALID RECORD: entry 3 (chain): the hash does not follow", "THE LEDGER IS NOT VALID"]),
  });
});

test("a replay adds up all pages and fails if a roll-up differs on any of them", () => {
  const page = (organizationId: string, balance: bigint, difference: bigint, reason?: string): ReplayPage => ({
    asOf: "2026-01-01T00:00:00.000Z",
    withPrices: "2026-02-01T00:00:00.000Z",
    meta: { totalPages: 2n },
    data: [
      {
        organizationId,
        name: "O",
        balance,
        entries: 2n,
        repricing: { charged: 10n, repriced: 10n + difference, difference, repricedCalls: 1n, keptCalls: 0n },
      },
    ],
    rollups: { equal: reason === undefined, firstDifference: reason === undefined ? null : { reason } },
  });
  const sound = replayReport([page("org_1", 1_500_000_000n, 5n), page("org_2", -500_000_000n, -2n)]);
  expect(sound.ok).toBe(true);
  expect(sound.lines).toEqual(
    expect.arrayContaining([
      "2 organizations, total 1.00 USD",
      "with the prices of 2026-02-01T00:00:00.000Z: +0.000000003 USD",
      "roll-ups match the usage rows",
    ]),
  );
  const wrong = replayReport([page("org_1", 0n, 0n), page("org_2", 0n, 0n, "says cost 51")]);
  expect(wrong).toMatchObject({ ok: false, lines: expect.arrayContaining(["ROLL-UPS DIFFER: says cost 51"]) });
});
