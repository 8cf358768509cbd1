import { createFederationBody } from "./training.ts";

const participants = Array.from({ length: 6 }, (_, index) => ({ url: `http://127.0.0.1:${5000 + index}` }));
const problemsOf = (given: object): string[] =>
  createFederationBody
    .safeParse({ participants, task: "mlp", ...given })
    .error?.issues.map(({ path, message }) => `${path.join(".")} ${message}`) ?? [];

test("a setting of an own strategy that its round records could not have is refused by name", () => {
  expect(problemsOf({ strategy: { name: "mine", lr: 0.5, layers: [1, 2] } })).toEqual([]);
  expect(problemsOf({ strategy: { name: "mine", round: 3, language: "de", source: "here" } })).toEqual(
    ["round", "language", "source"].map((name) =>
      expect.stringMatching(new RegExp(`^strategy\\.${name} cannot be a setting of an own strategy`)),
    ),
  );
});

const dp = { mode: "central", clipNorm: 1, noiseMultiplier: 1, delta: 1e-5 };
const SAMPLED = { eval: { mode: "none" }, dp, fraction: 0.5 };

test("a least number of results is refused where rounds draw their participants by chance, because it was not kept", () => {
  expect(problemsOf({ ...SAMPLED, minResults: 3 })).toEqual([expect.stringMatching(/^minResults must be 1 or absent .*epsilon/)]);
  for (const accepted of [
    SAMPLED,
    { ...SAMPLED, minResults: 1 },
    // None of these is a sample that epsilon counts on.
    { ...SAMPLED, minResults: 3, fraction: 1 },
    { ...SAMPLED, minResults: 3, overSelect: 0.5 },
    { ...SAMPLED, minResults: 3, dp: { ...dp, mode: "local" } },
    { ...SAMPLED, minResults: 3, strategy: "median" },
    { ...SAMPLED, minResults: 3, dp: undefined },
  ])
    expect(problemsOf(accepted)).toEqual([]);
});
