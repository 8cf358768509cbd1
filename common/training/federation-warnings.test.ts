import { federationSettings } from "./federation-settings.ts";
import { federationWarnings } from "./federation-warnings.ts";

const warned = (given: object, participants = 2): string[] =>
  federationWarnings({
    ...federationSettings.parse({ task: "softmax", ...given }),
    participants: Array.from({ length: participants }, () => ({})),
  });
const dp = { clipNorm: 1, noiseMultiplier: 1, delta: 1e-5 };

test.each([
  ["fedavg", { strategy: "fedavg" }],
  ["a robust strategy that weighs by samples", { strategy: "geometric_median" }],
  ["local noise", { dp: { ...dp, mode: "local" } }],
  ["open enrollment", { enrollment: "open" }],
])("%s without maxSamples: one participant can decide the model", (_name, given) => {
  expect(warned(given)).toEqual([expect.stringMatching(/^maxSamples is not set.* weighs updates by them, .* decide the model/)]);
});

test.each([
  ["a limit", { maxSamples: 100 }, 2],
  ["a strategy without weights", { strategy: "trimmed_mean" }, 2],
  ["central noise, which weighs all the same", { dp: { ...dp, mode: "central" } }, 2],
  ["one participant", {}, 1],
])("%s needs no warning", (_name, given, participants) => {
  expect(warned(given, participants)).toEqual([]);
});

test("rewards by samples without maxSamples are a warning of their own", () => {
  expect(warned({ strategy: "median", rewards: { by: "samples" } })).toEqual([expect.stringContaining("rewards are shared by them")]);
  expect(warned({ rewards: { by: "samples" } })).toHaveLength(2);
});
