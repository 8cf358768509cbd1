import fc from "fast-check";
import { type ChainLink, firstBrokenLink, NO_RECORD, type RoundRecord, roundRecordHash, sortedUpdates } from "./round-record.ts";

const digest = (digit: number) => String(digit % 10).repeat(64);

function chain(length: number): ChainLink[] {
  const links: ChainLink[] = [];
  for (let round = 1; round <= length; round++) {
    const before = links.at(-1);
    const record: RoundRecord = {
      federationId: "fed_1",
      round,
      previous: before?.hash ?? NO_RECORD,
      base: before?.record.result ?? null,
      state: null,
      updates: [{ hash: digest(round), weight: 10 }],
      strategy: { name: "fedavg" },
      result: digest(round + 1),
      made: "aggregated",
    };
    links.push({ record, hash: roundRecordHash(record) });
  }
  return links;
}

test("an unchanged chain verifies", () => {
  expect(firstBrokenLink(chain(5))).toBeUndefined();
  expect(firstBrokenLink([])).toBeUndefined();
});

const CHANGES: [string, (record: RoundRecord) => RoundRecord][] = [
  ["result", (record) => ({ ...record, result: digest(9) })],
  ["base", (record) => ({ ...record, base: digest(0) })],
  ["weight", (record) => ({ ...record, updates: record.updates.map((update) => ({ ...update, weight: 11 })) })],
  ["update", (record) => ({ ...record, updates: [] })],
  ["strategy", (record) => ({ ...record, strategy: { name: "median" } })],
];

test.each(CHANGES)("another %s in the record of a round names that round", (_field, change) => {
  for (const round of [1, 3, 5]) {
    const links = chain(5).map((link) => (link.record.round === round ? { ...link, record: change(link.record) } : link));
    expect(firstBrokenLink(links)?.round).toBe(round);
  }
});

test("a record that was changed together with its hash breaks the round after it", () => {
  const links = chain(4);
  const record = { ...(links[1] as ChainLink).record, strategy: { name: "median" } };
  links[1] = { record, hash: roundRecordHash(record) };
  expect(firstBrokenLink(links)).toEqual({ round: 3, reason: "it does not name the record before it" });
});

test("a round that was taken out is missed", () => {
  expect(firstBrokenLink(chain(4).toSpliced(1, 1))).toEqual({ round: 2, reason: "the record of round 2 is missing or cannot be read" });
});

test("the hash does not depend on the order that fields or updates came in", () => {
  fc.assert(
    fc.property(fc.shuffledSubarray([1, 2, 3, 4], { minLength: 4, maxLength: 4 }), (order) => {
      const updates = sortedUpdates(order.map((digit) => ({ hash: digest(digit), weight: digit })));
      expect(updates.map(({ weight }) => weight)).toEqual([1, 2, 3, 4]);
    }),
  );
  const [{ record }] = chain(1) as [ChainLink];
  const turned = Object.fromEntries(Object.entries(record).reverse()) as unknown as RoundRecord;
  expect(roundRecordHash(turned)).toBe(roundRecordHash(record));
});
