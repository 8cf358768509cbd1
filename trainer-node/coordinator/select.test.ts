import { systemRandom } from "../../common/random.ts";
import { sampledShare } from "../../common/training/federation-sampling.ts";
import { federationSettings } from "../../common/training/federation-settings.ts";
import { sampleParticipants } from "./select.ts";

const names = Array.from({ length: 20 }, (_, index) => `p${index}`);

test("every participant is sampled with the same probability, independently, and no sample is empty", () => {
  const counts = new Map(names.map((name) => [name, 0]));
  const sizes = new Set<number>();
  const draws = 20_000;
  for (let draw = 0; draw < draws; draw++) {
    const sampled = sampleParticipants(names, 0.3, systemRandom);
    sizes.add(sampled.length);
    for (const name of sampled) counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  // An empty sample has a probability of 0.0008. Within six standard errors.
  for (const count of counts.values()) expect(Math.abs(count / draws - 0.3)).toBeLessThan(6 * Math.sqrt((0.3 * 0.7) / draws) + 0.001);
  expect(sizes.has(0)).toBe(false);
  expect(sizes.size).toBeGreaterThan(8);
  expect(sampleParticipants(names.slice(0, 1), 0.01, systemRandom)).toEqual(["p0"]);
});

const central = { mode: "central", clipNorm: 1, noiseMultiplier: 1, delta: 1e-5 };

test.each([
  [{ dp: central, fraction: 0.1 }, 0.1],
  [{ dp: central, fraction: 0.1, strategy: "fedadam" }, 0.1],
  [{ dp: central }, undefined],
  [{ dp: central, fraction: 0.1, enrollment: "open" }, undefined],
  [{ dp: central, fraction: 0.1, overSelect: 0.3 }, undefined],
  [{ dp: central, fraction: 0.1, selection: { properties: { region: "eu" } } }, undefined],
  [{ dp: central, fraction: 0.1, strategy: { name: "krum", f: 1 } }, undefined],
  [{ dp: central, fraction: 0.1, secureAggregation: true }, undefined],
  [{ dp: { ...central, mode: "local" }, fraction: 0.1 }, undefined],
  [{ fraction: 0.1 }, undefined],
])("%j: the sampling counts for epsilon with share %s", (given, share) => {
  expect(sampledShare(federationSettings.parse({ task: "softmax", ...given }))).toBe(share);
});
