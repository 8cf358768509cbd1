import { bodyOf, joinCommand, NEW_FEDERATION, privacyOf } from "./federation-form.ts";

test("the request has the chosen nodes, the typed ones and a place for each join token, with the settings that were changed", () => {
  const form = { ...NEW_FEDERATION, name: "f", chosenNodes: ["http://a:1"], nodes: "http://b:1\n", places: 1, settings: { beta: 0.3 } };
  expect(bodyOf({ ...form, strategy: "trimmed_mean", privacy: "local", isSecure: true, budget: "0.5" })).toEqual({
    name: "f",
    task: { name: "softmax", dataset: { name: "digits" } },
    strategy: { name: "trimmed_mean", beta: 0.3 },
    rounds: 5,
    participants: [{ url: "http://a:1" }, { url: "http://b:1" }, { join: true }],
    budgetNanoUsd: 500_000_000,
    dp: { mode: "local", clipNorm: 1, noiseMultiplier: 1, delta: 1e-5 },
    secureAggregation: true,
  });
});

test("without privacy the request has no noise, and a dataset that is not JSON is refused with an example", () => {
  expect(bodyOf({ ...NEW_FEDERATION, dataset: "" })).toMatchObject({ task: { name: "softmax" } });
  expect(Object.keys(bodyOf(NEW_FEDERATION))).not.toContain("dp");
  expect(() => bodyOf({ ...NEW_FEDERATION, dataset: "digits" })).toThrow('must be JSON, such as {"name": "digits"}');
});

test("sampling, its limits, open enrollment and a budget of epsilon are in the request only if they are set", () => {
  const sampled = { ...NEW_FEDERATION, sharePercent: 25, clientsMin: 5, clientsMax: 50, isOpen: true, samplesMax: 500 };
  expect(bodyOf({ ...sampled, privacy: "central", epsilonBudget: 8 })).toMatchObject({
    fraction: 0.25,
    selection: { min: 5, max: 50 },
    enrollment: "open",
    maxSamples: 500,
    participants: [],
    dp: { epsilonBudget: 8 },
  });
  expect(bodyOf({ ...NEW_FEDERATION, clientsMax: 3 })).toMatchObject({ selection: { max: 3 } });
  const plain = Object.keys(bodyOf({ ...NEW_FEDERATION, privacy: "local" }));
  expect(plain.filter((name) => ["fraction", "selection", "enrollment", "maxSamples"].includes(name))).toEqual([]);
});

const sum = { sees: "sum" } as const;
const central = { ...NEW_FEDERATION, privacy: "central", rounds: 1 } as const;

test("the epsilon that is shown is the one that the coordinator counts, and grows with the rounds", () => {
  expect(privacyOf(central, sum)).toEqual({ epsilon: expect.closeTo(4.73, 2), isSampled: false, roundsInBudget: 1 });
  expect(privacyOf({ ...central, rounds: 10 }, sum)?.epsilon).toBeGreaterThan(4.73);
  for (const wrong of [NEW_FEDERATION, { ...central, noiseMultiplier: 0 }, { ...central, delta: 1 }])
    expect(privacyOf(wrong, sum)).toBeUndefined();
});

test("sampling makes epsilon smaller where the coordinator counts it, and nowhere else", () => {
  const sampled = { ...central, rounds: 10, places: 1000, sharePercent: 5 };
  const whole = privacyOf({ ...sampled, sharePercent: 100 }, sum)?.epsilon ?? 0;
  expect(privacyOf(sampled, sum)).toMatchObject({ isSampled: true });
  expect(privacyOf(sampled, sum)?.epsilon).toBeLessThan(whole / 4);
  for (const uncounted of [{ isOpen: true }, { clientsMax: 40 }, { isSecure: true }, { privacy: "local" as const }])
    expect(privacyOf({ ...sampled, ...uncounted }, sum)).toMatchObject({ epsilon: whole, isSampled: false });
  expect(privacyOf(sampled, { sees: "each" })).toMatchObject({ epsilon: whole, isSampled: false });
});

test("a budget of epsilon says after how many rounds the federation ends", () => {
  const form = { ...central, rounds: 10, epsilonBudget: 9.02 };
  expect(privacyOf(form, sum)?.roundsInBudget).toBe(3);
  expect(privacyOf({ ...form, epsilonBudget: 1 }, sum)?.roundsInBudget).toBe(0);
  expect(privacyOf({ ...form, epsilonBudget: 100 }, sum)?.roundsInBudget).toBe(10);
});

test("the join command has the address and the token", () => {
  expect(joinCommand("https://g.example", "join_x")).toBe(
    "TRAINER_JOIN_URL=https://g.example TRAINER_JOIN_TOKEN=join_x node trainer-node/main.ts",
  );
});
