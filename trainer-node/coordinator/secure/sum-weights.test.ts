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
  ["four, the one of a thousand times as many dropped out", [10, 10, 10, 10_000], 3],
  ["255, the one of a thousand times as many dropped out", [...Array.from({ length: 254 }, () => 1), 1000], 254],
  ["255, all but the one of a million times as many have next to none", [...Array.from({ length: 254 }, () => 1), 1_000_000], 255],
  ["some of 0 samples, which have no error", [0, 10, 10, 10_000], 3],
])("a mean that is exact enough is taken: %s", (_who, given, inSum) => {
  expect(planProblem(planOf(given).weights)).toBeUndefined();
  expect(sumProblem(planOf(given), ids(inSum))).toBeUndefined();
  const { fractionBits } = fixedPointFor({ clients: given.length, limit: 64 });
  expect(Math.abs(meanOf(given, inSum, 0.2) - 0.2)).toBeLessThanOrEqual(1024 * 2 ** -(fractionBits + 1));
});

test("a mean that rounding has moved is refused with its size, the heaviest participant, and what to do", () => {
  const given = [100, 100, 100, 1_000_000];
  expect(Math.abs(meanOf(given, 3, 0.5) - 0.5)).toBeGreaterThan(0.0005);
  expect(sumProblem(planOf(given), ids(3))).toMatch(
    /^3 masked updates of 100 samples on average, less than 1\/1024 of the 1000000 that p4 declares, .* by 0\.0012\. .*maxSamples/,
  );
});

test("samples that are too far apart are refused before updates are masked", () => {
  expect(planProblem(planOf([10, 10, 10, 1e9]).weights)).toMatch(
    /p1 has 10, less than 1\/1048576 of the 1000000000 that p4 declares.*maxSamples/,
  );
});

test("equal weights are never too far apart", () => {
  const introduced = new Map([10, 10, 1e9].map((samples, index) => [`p${index + 1}`, { samples }]));
  const weights = weightsOf(introduced, "equal");
  expect([weights, weightMaxOf(weights), planProblem(weights)]).toEqual([{ p1: 1, p2: 1, p3: 1 }, 1, undefined]);
});
