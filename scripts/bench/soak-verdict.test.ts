import { type SoakMinute, soakFailures } from "./soak-verdict.ts";

const minute: SoakMinute = { answered: 1000, edgeHeapMb: 60, controlHeapMb: 80, unsettled: 500 };
const money = { before: 1_000_000n, after: 880_000n, costOfCall: 12n, answered: 10_000, broken: 0 };
const minutes = (change: (place: number) => Partial<SoakMinute>) =>
  Array.from({ length: 12 }, (_, place) => ({ ...minute, ...change(place) }));

test("a soak whose figures vary but do not grow passes, also if the first minute is lower than the others", () => {
  const steady = minutes((place) => ({ edgeHeapMb: place === 0 ? 30 : 60 + (place % 3), unsettled: 500 + (place % 4) * 400 }));
  expect(soakFailures(steady, money)).toEqual([]);
});

test.each([
  ["edgeHeapMb", (place: number) => ({ edgeHeapMb: 60 + place * 2 }), "the edge's heap grew from"],
  ["controlHeapMb", (place: number) => ({ controlHeapMb: 80 + place * 3 }), "the control plane's heap grew from"],
  ["unsettled", (place: number) => ({ unsettled: 500 + place * 1000 }), "the number of unsettled calls grew from"],
] as const)("a soak fails if %s grows", (_name, change, message) => {
  expect(soakFailures(minutes(change), money)).toEqual([expect.stringContaining(message)]);
});

test("a soak fails if the balance is one call off, or by a part of a call; a call without an answer may have been billed or not", () => {
  const steady = minutes(() => ({}));
  for (const after of [880_012n, 879_988n, 879_999n]) expect(soakFailures(steady, { ...money, after })).toHaveLength(1);
  for (const after of [880_000n, 879_988n]) expect(soakFailures(steady, { ...money, after, broken: 1 })).toEqual([]);
  expect(soakFailures(steady, { ...money, after: 879_994n, broken: 1 })).toHaveLength(1);
});

test("a soak of one minute cannot show that nothing grows", () => {
  expect(soakFailures([minute], money)).toHaveLength(3);
});
