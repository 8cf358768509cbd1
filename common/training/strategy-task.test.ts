import { federationSettings } from "./federation-settings.ts";
import { filledStrategy, strategyTaskProblems } from "./strategy-task.ts";

const problemsOf = (strategy: object | string, config: object = {}) =>
  strategyTaskProblems(federationSettings.parse({ strategy, task: { name: "softmax", config } }));

describe("fednova divides by a norm of the local steps, which not every optimizer has", () => {
  test.each([{}, { optimizer: "sgd", mu: 0.1 }, { optimizer: "momentum", momentum: 0.5 }, { optimizer: "momentum", mu: 0 }])(
    "%j has",
    (config) => {
      expect(problemsOf("fednova", config)).toEqual([]);
    },
  );

  test.each([
    [{ optimizer: "adam" }, "optimizer", "must be sgd or momentum with fednova"],
    [{ optimizer: "momentum", mu: 0.1 }, "mu", "does not work with fednova and the optimizer momentum"],
    [{ lr: 0.1, mu: 10 }, "mu", "times lr must be below 1 with fednova"],
    [{ mu: 10 }, "mu", "times lr must be below 1 with fednova"],
  ])("%j has not", (config, setting, message) => {
    expect(problemsOf("fednova", config)).toEqual([{ path: ["task", "config", setting], message: expect.stringContaining(message) }]);
  });
});

describe("fedprox has a mu, as a setting or in the task's config, and one of them only", () => {
  test.each<[string, object, object, unknown]>([
    ["neither", {}, {}, 0.1],
    ["null in the config", {}, { mu: null }, 0.1],
    ["a setting", { mu: 0 }, {}, 0],
    ["the config", {}, { mu: 0.5 }, undefined],
  ])("%s: the new federation has it", (_name, settings, config, mu) => {
    const asked = { strategy: { name: "fedprox", ...settings }, task: { name: "softmax", config } };
    expect(filledStrategy(federationSettings.parse(asked))["mu"]).toBe(mu);
  });

  test.each<[string, object, object]>([
    ["none, which is the default", {}, {}],
    ["a setting", { mu: 0.1 }, {}],
    ["a setting of 0, which says that there is no proximal term", { mu: 0 }, {}],
    ["the config", {}, { mu: 0.1 }],
    ["the same in both", { mu: 0.1 }, { mu: 0.1 }],
  ])("%s", (_name, settings, config) => {
    expect(problemsOf({ name: "fedprox", ...settings }, config)).toEqual([]);
  });

  test.each<[string, object, object, string]>([
    ["a text in the config", {}, { mu: "0.1" }, "must be a number from 0 to 1000, and mu of the task's config is not"],
    ["a negative one in the config", {}, { mu: -1 }, "must be a number from 0 to 1000"],
    ["two different ones", { mu: 0.1 }, { mu: 0 }, "must be the same as mu of the task's config, 0; set one of the two"],
  ])("%s is refused", (_name, settings, config, message) => {
    const problems = problemsOf({ name: "fedprox", ...settings }, config);
    expect(problems).toEqual([{ path: ["strategy", "mu"], message: expect.stringContaining(message) }]);
  });
});
