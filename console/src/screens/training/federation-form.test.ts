import { bodyOf, epsilonOf, joinCommand, NEW_FEDERATION } from "./federation-form.ts";

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

test("the epsilon that is shown is the one that the coordinator counts, and grows with the rounds", () => {
  const form = { ...NEW_FEDERATION, privacy: "central", rounds: 1 } as const;
  expect(epsilonOf(form)).toBeCloseTo(4.73, 2);
  expect(epsilonOf({ ...form, rounds: 10 })).toBeGreaterThan(4.73);
  expect([epsilonOf(NEW_FEDERATION), epsilonOf({ ...form, noiseMultiplier: 0 }), epsilonOf({ ...form, delta: 1 })]).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
});

test("the join command has the address and the token", () => {
  expect(joinCommand("https://g.example", "join_x")).toBe(
    "TRAINER_JOIN_URL=https://g.example TRAINER_JOIN_TOKEN=join_x node trainer-node/main.ts",
  );
});
