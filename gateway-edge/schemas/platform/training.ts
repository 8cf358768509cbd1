import { z } from "zod";
import { compressionProblems } from "../../../common/training/compression-settings.ts";
import { enrollmentProblems, mostParticipants, PARTICIPANTS_MAX } from "../../../common/training/enrollment-settings.ts";
import { evaluationProblems } from "../../../common/training/evaluation-rules.ts";
import { samplingProblems } from "../../../common/training/federation-sampling.ts";
import {
  builtInStrategy,
  evaluationSettings,
  federationSettingsFields,
  ROUNDS_MAX,
  requestedStrategy,
} from "../../../common/training/federation-settings.ts";
import { initialProblems } from "../../../common/training/initial-settings.ts";
import { privacyRules } from "../../../common/training/privacy-rules.ts";
import { rewardProblems } from "../../../common/training/reward-settings.ts";
import { rootProblems } from "../../../common/training/root-settings.ts";
import { requestedSelection, selectionProblems, wantedOf } from "../../../common/training/selection-settings.ts";
import { strategyClientProblems } from "../../../common/training/strategy-clients.ts";
import { strategyTaskProblems } from "../../../common/training/strategy-task.ts";
import { id, name, nanoAmount, paging, plainText } from "../fields.ts";
import { listOf, money } from "../records.ts";
import { EPSILON_IS } from "./epsilon.ts";
import { participant, secret, url } from "./federation-participant.ts";
import { publishBody } from "./trained-models.ts";

/** Strict, because an ignored unknown field may have been meant to protect data. */
export const createFederationBody = z
  .strictObject({
    ...federationSettingsFields,
    rounds: z.int().min(1, "must be at least 1").max(ROUNDS_MAX, `must be at most ${ROUNDS_MAX}`).default(10),
    /** It has no rounds of its own: it waits to be extended, or to be a participant of another federation. */
    waits: z.boolean().default(false),
    selection: requestedSelection.optional(),
    strategy: requestedStrategy.default({ name: "fedavg" }),
    /** Absent: on held-out data, unless `dp` or `secureAggregation` leaves no rows for it. */
    eval: evaluationSettings.optional(),
    name: name.optional(),
    teamId: id.optional(),
    /** Not empty, unless `enrollment` is `open`. */
    participants: z.array(participant).max(PARTICIPANTS_MAX, `must have at most ${PARTICIPANTS_MAX} entries`).default([]),
    /** The budget of each round. */
    budgetNanoUsd: nanoAmount.max(1_000_000_000_000_000).default(0),
  })
  .superRefine((given, context) => {
    const problems = [
      ...privacyRules(given).problems(given),
      ...rewardProblems(given),
      ...initialProblems(given),
      ...enrollmentProblems(given),
      ...rootProblems(given),
      ...compressionProblems(given),
      ...selectionProblems(given),
      ...strategyClientProblems(given),
      ...strategyTaskProblems(given),
      ...evaluationProblems(given),
      ...samplingProblems(given),
    ];
    for (const { path, message } of problems) context.addIssue({ code: "custom", path, message });
    // A round cannot have more results than participants that it selects.
    const wanted = wantedOf({ ...given, participants: mostParticipants(given) });
    if ((given.minResults ?? 0) <= wanted) return;
    const message = `must be at most ${wanted}, the number of participants that a round selects (participants times fraction, within selection.min and max)`;
    context.addIssue({ code: "custom", path: ["minResults"], message });
  });

export const extendBody = z.object({
  /** How many more rounds. */
  rounds: z.int32().min(1, "must be at least 1").max(ROUNDS_MAX, `must be at most ${ROUNDS_MAX}`),
});

export const createNodeBody = z.object({
  name: name.optional(),
  url,
  teamId: id.optional(),
  /** The bearer token of the node (its `TRAINER_TOKEN`). */
  token: secret.optional(),
  /** Signs calls to the node (its `TRAINER_SECRET`). */
  secret: secret.optional(),
});

export const federationsQuery = z.object({
  ...paging,
  state: z.enum(["created", "waiting", "running", "paused", "completed", "failed", "stopped"]).optional(),
  team_id: id.optional(),
});

export const eventsQuery = z.object({
  after: z
    .string()
    .regex(/^[0-9]{1,15}$/, "must be a whole number")
    .transform(BigInt)
    .optional()
    .meta({ openapi: { type: "integer", minimum: 0 } }),
});

const modelName = plainText(100);

/** The other fields of a publication come from the federation. */
export const publishFederationBody = publishBody
  .pick({ type: true, pricing: true, visibility: true, allowedOrganizationIds: true, description: true, percent: true })
  .extend({
    /** The model's name; by default the federation's `modelName`. */
    model: modelName.optional(),
    /** A committed round; by default the last. */
    round: z.int32().min(1).optional(),
    labels: publishBody.shape.task.shape.labels,
    flagged: publishBody.shape.task.shape.flagged,
    columns: publishBody.shape.task.shape.columns,
    /**
     * Participants whose own serve function answers the calls, by their id. Absent: the operator's nodes serve a built-in task; for another
     * task, every participant that declares a serve function.
     */
    servedBy: z.array(z.string().min(1).max(100)).min(1).max(64).optional(),
  });

export const rollbackFederationBody = z.object({ model: modelName.optional(), version: z.int32().min(1).optional() });
export const versionsQuery = z.object({ ...paging, model: modelName.optional() });

const participantRecord = z.object({
  id: z.string(),
  nodeId: z.string().nullable(),
  url: z.string().nullable(),
  organizationId: z.string(),
  joined: z.boolean(),
  /** The federation that is the participant, and how many of its rounds are one training; null for any other participant. */
  inner: z.object({ federationId: z.string(), rounds: z.int() }).nullable(),
});

export const federationRecord = z
  .object({
    id: z.string(),
    name: z.string(),
    /** The default name of its published model, made from `name`. */
    modelName: z.string(),
    organizationId: z.string(),
    teamId: z.string(),
    createdBy: z.bigint(),
    state: z.string(),
    phase: z.string().nullable(),
    round: z.int(),
    rounds: z.int(),
    waitingFor: z.string().nullable(),
    waitingUntil: z.date().nullable(),
    failure: z.object({ code: z.string(), message: z.string() }).nullable(),
    head: z.object({ round: z.int(), recordHash: z.string(), parameters: z.string(), accuracy: z.number().nullable() }).nullable(),
    epsilon: z.number().nullable().meta({ description: EPSILON_IS }),
    /** SHA-256 of the parameters that round 1 starts from; null if every participant starts with its own. */
    initialParameters: z.string().nullable(),
    /** Where untrained initial parameters came from that `initial` does not name: `by` is `coordinator` or `participant`; null for others. */
    initialStart: z.looseObject({ by: z.string() }).nullable(),
    /** The federation that it is a participant of, and the newest round of that one that it trained for; null if there is none. */
    outer: z.object({ federationId: z.string(), participantId: z.string(), round: z.int() }).nullable(),
    /** Per round. */
    budgetNanoUsd: z.bigint(),
    budgetUsd: z.string(),
    participants: z.array(participantRecord),
    settings: z.looseObject({}),
    createdAt: z.date(),
    updatedAt: z.date(),
  })
  .meta({ id: "Federation" });

const metricsRecord = z.record(z.string(), z.number());
/** The numbers that `train` and `evaluate` returned. */
const operationMetrics = z.object({ train: metricsRecord, evaluate: metricsRecord });
/** `state` is `done` or `failed`; null if no evaluation was asked for. */
const evaluationRecord = z.object({ state: z.string(), reason: z.string().nullable() }).nullable();

const roundParticipantRecord = z.object({
  participantId: z.string(),
  state: z.string(),
  update: z.string().nullable(),
  samples: z.bigint().nullable(),
  bytes: z.bigint(),
  durationMs: z.bigint(),
  reason: z.string().nullable(),
  norm: z.number().nullable(),
  cosine: z.number().nullable(),
  kept: z.boolean().nullable(),
  contribution: z.number(),
  ...money("reward"),
  staleness: z.int(),
  /** How much of its training is done, from 0 to 1, by its own report; null if it reported nothing. */
  progress: z.number().nullable(),
  metrics: operationMetrics,
  evaluation: evaluationRecord,
});

export const roundRecord = z
  .object({
    federationId: z.string(),
    round: z.int(),
    state: z.string(),
    recordHash: z.string().nullable(),
    /** The round record that is hashed; null until the round is committed. */
    record: z.looseObject({}).nullable(),
    parameters: z.string().nullable(),
    accuracy: z.number().nullable(),
    loss: z.number().nullable(),
    /** Means over the participants, weighted by their samples. */
    metrics: operationMetrics,
    evaluation: evaluationRecord,
    epsilon: z.number().nullable().meta({ description: EPSILON_IS }),
    ...money("budget"),
    participants: z.array(roundParticipantRecord),
    openedAt: z.date(),
    committedAt: z.date().nullable(),
  })
  .meta({ id: "FederationRound" });

export const nodeRecord = z
  .object({
    id: z.string(),
    name: z.string(),
    url: z.string(),
    /** Null for a node of the operator, which every team can use. */
    organizationId: z.string().nullable(),
    teamId: z.string().nullable(),
    status: z.string(),
    lastSeenAt: z.date().nullable(),
    lastError: z.string().nullable(),
    updates: z.bigint(),
    failures: z.bigint(),
    bytes: z.bigint(),
    trainMs: z.bigint(),
    createdAt: z.date().nullable(),
  })
  .meta({ id: "TrainerNode" });

export const federationAnswer = z.object({ federation: federationRecord });
export const createdFederationAnswer = z.object({
  federation: federationRecord,
  /** One for each participant with `join`. */
  joinTokens: z.array(z.string()),
  /** The join token of the whole federation if its `enrollment` is `open`; else null. */
  joinLink: z.string().nullable(),
  /** What the owner should know of settings that are allowed and easily misused; empty if there is nothing. */
  warnings: z.array(z.string()),
});

export const enrollBody = z.strictObject({
  /** Most samples that the participant agrees to declare; by default, and at most, the federation's `maxSamples`. */
  maxSamples: z.int().min(1, "must be at least 1").optional(),
});
export const enrolledAnswer = z.object({
  federationId: z.string(),
  participantId: z.string(),
  /** The participant's own join token. */
  token: z.string(),
  /** Null if the federation sets no limit; then the largest that any federation takes counts, 1,000,000,000. */
  maxSamples: z.int().nullable(),
});
export const listFederationsAnswer = listOf(federationRecord);
/** A `text/event-stream` of the federation's events, not JSON. */
export const eventsAnswer = z.string();
export const listRoundsAnswer = listOf(roundRecord);
export const nodeAnswer = z.object({ node: nodeRecord });
export const listNodesAnswer = listOf(nodeRecord);
export const deletedNodeAnswer = z.object({ deleted: z.literal(true), id: z.string() });
export const nodeHealthAnswer = z.object({ node: nodeRecord, reachable: z.boolean(), latencyMs: z.number(), error: z.string().nullable() });
export const verifyAnswer = z.object({
  ok: z.boolean(),
  rounds: z.int(),
  remade: z.int(),
  firstBad: z.object({ round: z.int(), reason: z.string() }).nullable(),
});

export const metricsQuery = z.object({
  format: z.enum(["json", "csv", "tensorboard"], "must be one of: json, csv, tensorboard").default("json"),
});

/** With `format=csv` the rows `round,participant,operation,metric,value`; with `format=tensorboard` an event file. */
export const metricsAnswer = z.object({
  federationId: z.string(),
  rounds: z.array(
    z.object({
      round: z.int(),
      accuracy: z.number().nullable(),
      loss: z.number().nullable(),
      metrics: operationMetrics,
      participants: z.array(z.object({ participantId: z.string(), metrics: operationMetrics, evaluation: evaluationRecord })),
    }),
  ),
});

export const replayBody = z.object({
  /** The strategy to aggregate the rounds with, by name or with settings. */
  strategy: builtInStrategy,
  /** How many rounds to replay; by default all committed rounds. */
  rounds: z.int32().min(1, "must be at least 1").optional(),
});

const score = z.object({ accuracy: z.number().nullable(), loss: z.number().nullable() });

export const replayAnswer = z.object({
  strategy: z.looseObject({ name: z.string() }),
  rounds: z.array(z.object({ round: z.int(), parameters: z.string(), original: score, replayed: score })),
});
