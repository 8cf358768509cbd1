import { fixedPointFor, fromWords, toWords } from "../../compute/privacy/fixed-point.ts";
import { planProblem, sumProblem, weightMaxOf, weightsOf } from "./sum-weights.ts";

const ids = (count: number): string[] => Array.from({ length: count }, (_, index) => `p${index + 1}`);
const planOf = (given: readonly number[], range = 64) => {
  const everybody = ids(given.length).map((id) => ({ id }) as never);
  return { weights: Object.fromEntries(given.map((weight, index) => [`p${index + 1}`, weight])), everybody, range };
};

/** The mean as participants and coordinator make it, of the same value of each. */
function meanOf(given: readonly number[], inSum: number, value: number): number {
  const fixed = fixedPointFor({ clients: given.length, limit: 64 });
  const factors = given.slice(0, inSum).map((weight) => weight / Math.max(...given));
  const sum = factors.reduce((total, factor) => total + (fromWords(toWords([value * factor], fixed), fixed)[0] as number), 0);
  return sum / factors.reduce((total, factor) => total + factor, 0);
}

test.each([
  ["four, the one of three times as many in the sum", [10, 10, 10, 60], 4],
  ["six, the three of a thousand times as many dropped out", [10, 10, 10, 10_000, 10_000, 10_000], 3],
  ["255, the heaviest dropped out", [...Array.from({ length: 254 }, () => 1), 759], 254],
  [
    "255, two of a million times as many have nearly all, and a third covers them",
    [1e6, 1e6, 1e6, ...Array.from({ length: 252 }, () => 1)],
    255,
  ],
  ["some of 0 samples, which have no error", [10, 10, 10, 0, 10_000, 10_000, 10_000], 4],
])("a mean that is exact enough is taken: %s", (_who, given, inSum) => {
  expect(planProblem(planOf(given).weights)).toBeUndefined();
  expect(sumProblem(planOf(given), ids(inSum))).toBeUndefined();
  const { fractionBits } = fixedPointFor({ clients: given.length, limit: 64 });
  expect(Math.abs(meanOf(given, inSum, 0.2) - 0.2)).toBeLessThanOrEqual(1024 * 2 ** -(fractionBits + 1));
});

test("a mean that rounding has moved is refused with its size, the heaviest participant, and what to do", () => {
  const given = [100, 100, 100, 1_000_000, 900_000, 900_000];
  expect(planProblem(planOf(given).weights)).toBeUndefined();
  expect(Math.abs(meanOf(given, 3, 0.5) - 0.5)).toBeGreaterThan(0.0005);
  expect(sumProblem(planOf(given), ids(3))).toMatch(
    /^3 masked updates of 100 samples on average, less than 1\/1024 of the 1000000 that p4 declares, .* by 0\.0012\. .*maxSamples/,
  );
});

test("samples that are too far apart are refused before updates are masked", () => {
  expect(planProblem(planOf([10, 5e8, 5e8, 1e9]).weights)).toMatch(
    /p1 has 10, less than 1\/1048576 of the 1000000000 that p4 declares.*maxSamples/,
  );
});

test.each([
  [
    "one alone has samples",
    [100, 0, 0],
    /^3 masked updates, and 1 of them .* p1 \(100\)\. 3 must have some.* leave out participants without samples/,
  ],
  ["two alone have samples", [100, 0, 100, 0], /^4 masked updates, and 2 of them /],
  [
    "one has nearly all samples",
    [1_000_000, 1, 1],
    /p1 declares 1000000, more than nine tenths of all samples but those of p2, .* up to 9 would .*maxSamples/,
  ],
  [
    "two have nearly all samples, and each can take its own out",
    [1, 1000, 999],
    /p2 declares 1000, more than nine tenths of all samples but those of p3/,
  ],
  ["one has a little more than nine tenths beside each other one", [181, 10, 10, 10], /p1 declares 181, .* up to 180 would be hidden/],
])("a mean that would show an update is refused before updates are masked, and before they are unmasked: %s", (_what, given, problem) => {
  expect(planProblem(planOf(given).weights)).toMatch(problem);
  expect(sumProblem(planOf(given), ids(given.length))).toMatch(problem);
});

test("those that are left after others went away are looked at anew", () => {
  const plan = planOf([190, 30, 30, 30, 10, 10]);
  expect([planProblem(plan.weights), sumProblem(plan, ["p1", "p2", "p3", "p4"])]).toEqual([undefined, undefined]);
  expect(sumProblem(plan, ["p1", "p2", "p5", "p6"])).toMatch(/p1 declares 190, .* up to 180 would be hidden/);
  expect(sumProblem({ ...plan, weights: { ...plan.weights, p2: 0 } }, ["p1", "p2", "p3"])).toMatch(/2 of them with more than 0 samples/);
});

test("equal weights are never too far apart", () => {
  const introduced = new Map([10, 10, 1e9].map((samples, index) => [`p${index + 1}`, { samples }]));
  const weights = weightsOf(introduced, "equal");
  expect([weights, weightMaxOf(weights), planProblem(weights)]).toEqual([{ p1: 1, p2: 1, p3: 1 }, 1, undefined]);
});
