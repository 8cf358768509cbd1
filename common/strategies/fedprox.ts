import { declareStrategy, type GivenStrategy, type TaskConfig } from "./shared/strategy.ts";

const MU = 0.1;
const MU_MAX = 1000;

export const fedprox = declareStrategy({
  name: "fedprox",
  description: "FedProx (Li 2020): the server step of FedAvg; clients train with config.mu, the proximal term",
  settings: {
    mu: {
      type: "number",
      min: 0,
      max: MU_MAX,
      only: "federation",
      default: MU,
      description: "weight of the proximal term in the participants' training, where the task's config has none",
    },
  },
  sees: "sum",
  base: "unused",
  usesWeights: true,
  needs: ["proximal"],
  // Without a proximal term the training is that of FedAvg, which every participant can do.
  isNeeded: (given, config) => Number(config["mu"] ?? given["mu"] ?? 0) !== 0,
  prepare: ({ mu }) => (mu === undefined ? {} : { mu }),
  // Stored federations may have none: they go on as federated averaging, as they began.
  filled: (given, config) => (given["mu"] === undefined && !isSet(config["mu"]) ? { ...given, mu: MU } : given),
  taskProblems: (given, config) => {
    const message = muProblem(given, config);
    return message === undefined ? [] : [{ path: ["strategy", "mu"], message }];
  },
});

/** What is wrong with mu, which a federation has as a setting of its strategy or in its task's config. */
function muProblem({ mu }: GivenStrategy, { mu: ofTask }: TaskConfig): string | undefined {
  if (!isSet(ofTask)) return undefined;
  if (!(typeof ofTask === "number" && ofTask >= 0 && ofTask <= MU_MAX))
    return `must be a number from 0 to ${MU_MAX}, and mu of the task's config is not`;
  if (mu !== undefined && mu !== ofTask) return `must be the same as mu of the task's config, ${ofTask}; set one of the two`;
  return undefined;
}

const isSet = (value: unknown): boolean => value !== undefined && value !== null;
