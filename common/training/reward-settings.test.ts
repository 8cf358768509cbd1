import { fallbackMeasure, rewardMeasure, rewardProblems } from "./reward-settings.ts";

const central = { dp: { mode: "central" } };
const local = { dp: { mode: "local" } };
const secure = { secureAggregation: { threshold: 0.7 } };

test.each([
  ["nothing", {}, "cosine"],
  ["local noise", local, "cosine"],
  ["central noise", central, "equal"],
  ["a secure sum", secure, "equal"],
  ["a limit of samples", { maxSamples: 100 }, "samples"],
  ["a limit of samples and a secure sum", { maxSamples: 100, ...secure }, "samples"],
  ["a measure of its own", { rewards: { by: "samples" } as const }, "samples"],
])("with %s in the settings, self-declared samples decide no reward unless they are limited or asked for", (_what, asked, measure) => {
  expect(rewardMeasure(asked)).toBe(measure);
});

test("a measure that a round cannot compute is not replaced by samples without a limit", () => {
  expect([fallbackMeasure({}), fallbackMeasure({ maxSamples: 5 })]).toEqual(["equal", "samples"]);
});

test.each([
  ["cosine", central, "dp.mode central"],
  ["leave_one_out", central, "dp.mode central"],
  ["cosine", secure, "secureAggregation"],
  ["leave_one_out", secure, "secureAggregation"],
] as const)("%s with %j is refused, because it shows something of a single update", (by, privacy, reason) => {
  expect(rewardProblems({ rewards: { by }, ...privacy })).toMatchObject([
    { path: ["rewards", "by"], message: expect.stringContaining(reason) },
  ]);
});

test("measures that show no update work with every privacy setting, and all measures without one", () => {
  for (const by of ["equal", "samples"] as const) expect(rewardProblems({ rewards: { by }, ...central, ...secure })).toEqual([]);
  for (const by of ["cosine", "leave_one_out"] as const) expect(rewardProblems({ rewards: { by }, ...local })).toEqual([]);
});
