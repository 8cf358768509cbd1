import { z } from "zod";
import { federationSettingsFields } from "../../../common/federation-settings.ts";
import { privacyRules } from "../../../common/privacy-rules.ts";
import { id, name, nanoAmount, paging, plainText } from "../fields.ts";
import { listOf, money } from "../records.ts";
import { publishBody } from "./trained-models.ts";

const URL_LENGTH_MAX = 2048;
const SECRET_LENGTH_MAX = 256;
const PARTICIPANTS_MAX = 10_000;

const url = z.string().trim().min(1, "must not be empty").max(URL_LENGTH_MAX, `must have at most ${URL_LENGTH_MAX} characters`);
const secret = z.string().min(16, "must have at least 16 characters").max(SECRET_LENGTH_MAX);

const participant = z
  .strictObject({
    /** Where the participant is called, */
    url: url.optional(),
    /** or true for a place that one takes with a join token, because nobody can call it. */
    join: z.boolean().optional(),
    /** Whom its rewards go to; the federation's own organisation where absent. */
    organizationId: id.optional(),
    /** Sent with every call as `dataset`; where absent the task's, else the node's own. */
    dataset: z.json().optional(),
    /** Signs our calls to it, where the node was given the same. */
    secret: secret.optional(),
    /** The node's own token. */
    token: secret.optional(),
  })
  .refine((given) => (given.url === undefined) === (given.join === true), {
    path: ["url"],
    message: "give either url or join: true",
  });

/** Strict: a field that is not read may have been meant to protect data. */
export const createFederationBody = z
  .strictObject({
    ...federationSettingsFields,
    name: name.optional(),
    teamId: id.optional(),
    participants: z
      .array(participant)
      .min(1, "must have at least one entry")
      .max(PARTICIPANTS_MAX, `must have at most ${PARTICIPANTS_MAX} entries`),
    /** Of each round. */
    budgetNanoUsd: nanoAmount.max(1_000_000_000_000_000).default(0),
  })
  .superRefine((given, context) => {
    for (const { path, message } of privacyRules(given).problems(given)) context.addIssue({ code: "custom", path, message });
    // More than a round asks for can never come, and fewer must not pass for enough.
    const wanted = Math.max(1, Math.ceil(given.participants.length * given.fraction));
    if ((given.minResults ?? 0) <= wanted) return;
    const message = `must be at most ${wanted}, as that is how many a round waits for: participants times fraction`;
    context.addIssue({ code: "custom", path: ["minResults"], message });
  });

export const createNodeBody = z.object({ name: name.optional(), url, teamId: id.optional(), token: secret.optional() });

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

/** What else of a trained model is said when it is published is known by its federation. */
export const publishFederationBody = publishBody
  .pick({ type: true, pricing: true, visibility: true, allowedOrganizationIds: true, description: true, percent: true })
  .extend({
    /** The name to call it by; the federation's `modelName` where absent. */
    model: modelName.optional(),
    /** A committed round; the last where absent. */
    round: z.int32().min(1).optional(),
    labels: publishBody.shape.task.shape.labels,
    flagged: publishBody.shape.task.shape.flagged,
    columns: publishBody.shape.task.shape.columns,
  });

export const rollbackFederationBody = z.object({ model: modelName.optional(), version: z.int32().min(1).optional() });
export const versionsQuery = z.object({ ...paging, model: modelName.optional() });

const participantRecord = z.object({
  id: z.string(),
  nodeId: z.string().nullable(),
  url: z.string().nullable(),
  organizationId: z.string(),
  joined: z.boolean(),
});

export const federationRecord = z
  .object({
    id: z.string(),
    name: z.string(),
    /** A valid name for its model, made of its own: what publishing uses where no other is given. */
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
    epsilon: z.number().nullable(),
    ...money("budgetNanoUsd"),
    participants: z.array(participantRecord),
    settings: z.looseObject({}),
    createdAt: z.date(),
    updatedAt: z.date(),
  })
  .meta({ id: "Federation" });

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
});

export const roundRecord = z
  .object({
    federationId: z.string(),
    round: z.int(),
    state: z.string(),
    recordHash: z.string().nullable(),
    /** What was hashed; null until the round is committed. */
    record: z.looseObject({}).nullable(),
    parameters: z.string().nullable(),
    accuracy: z.number().nullable(),
    loss: z.number().nullable(),
    epsilon: z.number().nullable(),
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
    /** Null: the operator's, for every team. */
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
export const createdFederationAnswer = z.object({ federation: federationRecord, joinTokens: z.array(z.string()) });
export const listFederationsAnswer = listOf(federationRecord);
/** Not JSON: frames of an event stream, each with the fields of its event as data. */
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

export const replayBody = z.object({
  /** The strategy to make the rounds again with, by name or with its settings. */
  strategy: federationSettingsFields.strategy,
  /** The first so many rounds; all that are committed where absent. */
  rounds: z.int32().min(1, "must be at least 1").optional(),
});

const score = z.object({ accuracy: z.number().nullable(), loss: z.number().nullable() });

export const replayAnswer = z.object({
  strategy: z.looseObject({ name: z.string() }),
  rounds: z.array(z.object({ round: z.int(), parameters: z.string(), original: score, replayed: score })),
});
