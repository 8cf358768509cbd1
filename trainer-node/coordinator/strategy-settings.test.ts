import { federationSettings } from "../../common/federation-settings.ts";
import { NOT_IN_FEDERATIONS, STRATEGY_SETTINGS } from "../../common/strategy-settings.ts";
import { AGGREGATORS, findAggregator } from "../compute/aggregators/registry.ts";

const problemsOf = (given: object) =>
  federationSettings.safeParse({ task: "mlp", ...given }).error?.issues.map(({ path, message }) => `${path.join(".")} ${message}`) ?? [];

test("every strategy of the nodes can be named by a federation or says what it lacks there, and FedBuff beside them", () => {
  const named = [...Object.keys(STRATEGY_SETTINGS), ...NOT_IN_FEDERATIONS.keys()];
  expect(named.sort()).toEqual([...AGGREGATORS.map(({ name }) => name), "fedbuff"].sort());
});

/** What only a coordinator reads. */
const OURS: Readonly<Record<string, readonly string[]>> = { fedprox: ["mu"], fedasync: ["buffer"], fedbuff: ["lr", "buffer"] };

test("what a federation may set is what the nodes take, with the same limits; lists are the coordinator's to fill", () => {
  for (const [name, rules] of Object.entries(STRATEGY_SETTINGS)) {
    const theirs = Object.entries(findAggregator(name)?.settings ?? {}).filter(([, { type }]) => type !== "list");
    const expected = theirs.map(([setting, rule]) => {
      const { about: _about, default: _default, ...limits } = { ...rule };
      const { optional: _optional, ...rest } = limits as { optional?: boolean };
      return [setting, rest];
    });
    const mine = Object.entries(rules).filter(([setting]) => !OURS[name]?.includes(setting));
    expect({ name, rules: Object.fromEntries(mine) }).toEqual({ name, rules: Object.fromEntries(expected) });
  }
});

test.each([
  [{ strategy: "magic" }, "strategy.name must be one of: mean, fedavg"],
  [{ strategy: { name: "trimmed_mean", share: 0.3 } }, "strategy.share is not a setting of trimmed_mean; it has beta"],
  [{ strategy: { name: "trimmed_mean", beta: 0.5 } }, "strategy.beta must be a number from 0 below 0.5"],
  [{ strategy: { name: "krum", f: 1.5 } }, "strategy.f must be a whole number from 0"],
  [{ strategy: { name: "fedasync", decay: "slow" } }, "strategy.decay must be one of: polynomial, hinge, constant"],
  [{ strategy: { name: "fedadam", lr: "0.1" } }, "strategy.lr must be a number above 0 to 100"],
  [{ strategy: "norm_clip" }, "strategy.clip_norm is required by norm_clip"],
  [{ strategy: "qfedavg" }, "strategy.name qfedavg needs every participant's loss"],
  [{ strategy: { name: "constructor" } }, "strategy.name must be one of"],
  [{ strategy: { name: "mean", toString: 1 } }, "strategy.toString is not a setting of mean; it has none"],
  [{ task: { name: "softmax", config: 5 } }, "task.config"],
  [{ rewards: { by: "charm" } }, "rewards.by must be samples, cosine or leave_one_out"],
  [{ dp: { mode: "central", clip_norm: 1 } }, "dp.clipNorm"],
])("%j is refused by the name of what is wrong", (given, problem) => {
  expect(problemsOf(given).filter((text) => text.startsWith(problem))).toHaveLength(1);
});

test("what is right is taken: every strategy at its defaults, and a task of the participants' own", () => {
  for (const name of Object.keys(STRATEGY_SETTINGS)) {
    expect(problemsOf({ strategy: { name, ...(name === "norm_clip" ? { clip_norm: 1 } : {}) } })).toEqual([]);
  }
  expect(problemsOf({ task: "segmentation-2", strategy: { name: "fedbuff", buffer: 4, lr: 0.5 } })).toEqual([]);
});

test("a task's settings may stand beside its name", () => {
  const { task } = federationSettings.parse({ task: { name: "softmax", epochs: 2, config: { lr: 0.1 }, dataset: "digits" } });
  expect(task).toEqual({ name: "softmax", config: { epochs: 2, lr: 0.1 }, dataset: "digits" });
});
