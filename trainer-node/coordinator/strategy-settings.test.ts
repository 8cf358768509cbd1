import { STRATEGIES } from "../../common/strategies/gen/strategies.ts";
import { strategyProblems } from "../../common/strategies/shared/registry.ts";
import { settingProblem } from "../../common/strategies/shared/settings.ts";
import { federationSettings } from "../../common/training/federation-settings.ts";
import { AGGREGATORS } from "../compute/aggregators/gen/aggregators.ts";
import { findAggregator } from "../compute/aggregators/registry.ts";

const problemsOf = (given: object) =>
  federationSettings.safeParse({ task: "mlp", ...given }).error?.issues.map(({ path, message }) => `${path.join(".")} ${message}`) ?? [];

test("every strategy is one of the nodes, or says which of them combines its rounds", () => {
  const combined = STRATEGIES.map(({ name, aggregatedBy }) => findAggregator(aggregatedBy ?? name)?.name);
  expect(combined).toEqual(STRATEGIES.map(({ name, aggregatedBy }) => aggregatedBy ?? name));
  expect(STRATEGIES.map(({ name }) => name)).toEqual(expect.arrayContaining(AGGREGATORS.map(({ name }) => name)));
});

test("a setting is valid at its own default, and what only a call of /aggregate has is no setting of a federation", () => {
  for (const { name, settings } of STRATEGIES) {
    for (const [setting, rule] of Object.entries(settings)) {
      if (rule.default !== undefined) expect([name, setting, settingProblem(rule, rule.default)]).toEqual([name, setting, undefined]);
      const problems = strategyProblems({ name, [setting]: rule.default }).filter((problem) => problem.setting === setting);
      expect([name, setting, problems.some(({ message }) => message.startsWith("is not a setting"))]).toEqual([
        name,
        setting,
        rule.only === "aggregate",
      ]);
    }
  }
});

test.each([
  [{ strategy: "magic" }, "strategy.name must be one of: bulyan, fedadagrad"],
  [{ strategy: { name: "trimmed_mean", share: 0.3 } }, "strategy.share is not a setting of trimmed_mean; it has beta"],
  [{ strategy: { name: "trimmed_mean", beta: 0.5 } }, "strategy.beta must be a number from 0 below 0.5"],
  [{ strategy: { name: "krum", f: 1.5 } }, "strategy.f must be a whole number from 0"],
  [{ strategy: { name: "fedasync", decay: "slow" } }, "strategy.decay must be one of: polynomial, hinge, constant"],
  [{ strategy: { name: "fedadam", lr: "0.1" } }, "strategy.lr must be a number above 0 to 100"],
  [{ strategy: "norm_clip" }, "strategy.clip_norm is required by norm_clip"],
  [{ strategy: "fltrust" }, "strategy.root_participant is required by fltrust"],
  [{ strategy: { name: "qfedavg", losses: [1] } }, "strategy.losses is not a setting of qfedavg; it has q, lr"],
  [{ strategy: { name: "constructor" } }, "strategy.name must be one of"],
  [{ strategy: { name: "mean", toString: 1 } }, "strategy.toString is not a setting of mean; it has none"],
  [{ task: { name: "softmax", config: 5 } }, "task.config"],
  [{ rewards: { by: "charm" } }, "rewards.by must be samples, cosine, leave_one_out or equal"],
  [{ dp: { mode: "central", clip_norm: 1 } }, "dp.clipNorm"],
])("%j is refused by the name of what is wrong", (given, problem) => {
  expect(problemsOf(given).filter((text) => text.startsWith(problem))).toHaveLength(1);
});

test("what is right is taken: every strategy at its defaults, and a task of the participants' own", () => {
  const required: Record<string, object> = { norm_clip: { clip_norm: 1 }, fltrust: { root_participant: 0 } };
  for (const { name } of STRATEGIES) {
    expect(problemsOf({ strategy: { name, ...required[name] } })).toEqual([]);
  }
  expect(problemsOf({ task: "segmentation-2", strategy: { name: "fedbuff", buffer: 4, lr: 0.5 } })).toEqual([]);
});

test("a task's settings may stand beside its name", () => {
  const { task } = federationSettings.parse({ task: { name: "softmax", epochs: 2, config: { lr: 0.1 }, dataset: "digits" } });
  expect(task).toEqual({ name: "softmax", config: { epochs: 2, lr: 0.1 }, dataset: "digits" });
});
