import { z } from "zod";
import { ownSettingProblems, ownStrategyName } from "../strategies/shared/own-strategy.ts";
import { findStrategy, strategyProblems } from "../strategies/shared/registry.ts";
import { compressionSettings } from "./compression-settings.ts";
import { enrollmentFields } from "./enrollment-settings.ts";
import { initialSettings } from "./initial-settings.ts";
import { rewardSettings } from "./reward-settings.ts";
import { secureAggregation } from "./secure-settings.ts";
import { selectionSettings } from "./selection-settings.ts";

// How a federation trains: checked where it is created, read by the coordinator that does the work.

/** Most rounds of a federation, extensions included. */
export const ROUNDS_MAX = 100_000;
/** Most samples that a participant may declare without `maxSamples`: more than the data of one participant has, so more is wrong. */
export const SAMPLES_MAX = 1_000_000_000;
const DAY_MS = 86_400_000;
export const DEADLINE_MS = 600_000;

const task = z.object({
  /** Of a built-in task, or of what the participants' own functions know by it. */
  name: z.string().min(1).max(100).default("softmax"),
  /** Sent as `config` with every call: epochs, lr, batch_size, seed, ... */
  config: z.record(z.string().max(100), z.json()).default({}),
  /** Sent to participants that have no `dataset` of their own; a partition without an index gets one for each of them. */
  dataset: z.json().optional(),
});

/** A name alone, or all of it; what has no other place in it is part of its config. */
function readTask(given: unknown): unknown {
  if (typeof given === "string") return { name: given };
  if (typeof given !== "object" || given === null || Array.isArray(given)) return given;
  const { name, config, dataset, ...more } = given as Record<string, unknown>;
  const isObject = config === undefined || (typeof config === "object" && config !== null && !Array.isArray(config));
  return { name, dataset, config: isObject ? { ...more, ...config } : config };
}

const namedStrategy = z.looseObject({ name: z.string() });
const byName = (given: unknown): unknown => (typeof given === "string" ? { name: given } : given);

function checkStrategy(given: z.infer<typeof namedStrategy>, context: z.RefinementCtx): void {
  for (const { setting, message } of strategyProblems(given)) context.addIssue({ code: "custom", path: [setting], message });
}

const strategy = z.preprocess(byName, namedStrategy.superRefine(checkStrategy));

/** As a request may have it: the copy of an own strategy is not the caller's to give. */
const withoutCopy = namedStrategy.refine(({ own }) => own === undefined, { path: ["own"], message: "is not a setting of a strategy" });
/** A built-in strategy of a request. */
export const builtInStrategy = z.preprocess(byName, withoutCopy.superRefine(checkStrategy));
/** A strategy of a request. A name that is not built in may be one of the organization's own, which is looked up later. */
export const requestedStrategy = z.preprocess(
  byName,
  withoutCopy.superRefine((given, context) => {
    if (findStrategy(given.name) || !ownStrategyName.safeParse(given.name).success) return checkStrategy(given, context);
    for (const { setting, message } of ownSettingProblems(given)) context.addIssue({ code: "custom", path: [setting], message });
  }),
);

const NOISE_MIN = 1e-9;

const privacy = z.strictObject({
  mode: z.enum(["central", "local"], "must be central or local"),
  clipNorm: z.number().positive("must be above 0"),
  /** With less, epsilon has eighteen digits or more: noise in name only. */
  noiseMultiplier: z.number().positive("must be above 0").min(NOISE_MIN, `must be at least ${NOISE_MIN}`).max(1e6),
  delta: z.number().gt(0, "must be above 0").lt(1, "must be below 1"),
  /** The federation ends before the round that would spend more. */
  epsilonBudget: z.number().positive("must be above 0").optional(),
});

export const evaluationSettings = z.strictObject({
  /** On one node's held-out data, or on every participant's own. */
  mode: z.enum(["held_out", "sites", "none"], "must be held_out, sites or none").default("held_out"),
  /** Which participant evaluates held-out data; the first that can be reached where absent. */
  participant: z.int().min(0).optional(),
  dataset: z.json().optional(),
  /** Training ends early at this accuracy, */
  target: z.number().min(0).max(1).optional(),
  /** or after so many rounds without a better one. */
  patience: z.int().min(1).max(ROUNDS_MAX).optional(),
});

export const federationSettingsFields = {
  task: z.preprocess(readTask, task),
  strategy: strategy.default({ name: "fedavg" }),
  /** What round 1 starts from; absent: every participant starts with its own parameters. */
  initial: initialSettings.optional(),
  ...enrollmentFields,
  /** 0: none until it is extended, or until another federation that it is a participant of runs its rounds. */
  rounds: z.int().min(0, "must be at least 0").max(ROUNDS_MAX).default(10),
  /** Of the participants, for each round. */
  fraction: z.number().gt(0, "must be above 0").max(1, "must be at most 1").default(1),
  /** How many more are asked than are waited for: 0.3 asks 30 % more. */
  overSelect: z.number().min(0).max(10).default(0),
  /** Which participants rounds ask, beside how many. */
  selection: selectionSettings.optional(),
  /** A round with fewer is not aggregated; half of those asked where absent. */
  minResults: z.int().min(1, "must be at least 1").max(10_000).optional(),
  deadlineMs: z.int().min(100, "must be at least 100").max(DAY_MS).default(DEADLINE_MS),
  /** How long it waits for enough participants before it begins. */
  startDeadlineMs: z.int().min(100).max(DAY_MS).default(DEADLINE_MS),
  dp: privacy.optional(),
  /** The coordinator sees the sum of the updates, and no single one. */
  secureAggregation: secureAggregation.optional(),
  /** Participants send their updates compressed. */
  compression: compressionSettings.optional(),
  eval: evaluationSettings.default({ mode: "held_out" }),
  /** Most samples that a participant may declare; the update of one that declares more is refused. 1,000,000,000 where absent. */
  maxSamples: z.int().min(1, "must be at least 1").optional(),
  /** How a round's budget is shared; absent: by `cosine`, by `samples` with `maxSamples`, and equally where no single update may be seen. */
  rewards: rewardSettings.optional(),
  /** Of the participants chosen for a round, and of fresh models. */
  seed: z
    .int()
    .min(0)
    .max(2 ** 32 - 1)
    .default(1),
};

export const federationSettings = z.object(federationSettingsFields);
export type FederationSettings = z.infer<typeof federationSettings>;

export const isAsynchronous = ({ strategy: { name } }: Pick<FederationSettings, "strategy">): boolean =>
  findStrategy(name)?.timing === "asynchronous";
