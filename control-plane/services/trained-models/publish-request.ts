import { z } from "zod";
import { AppError } from "../../../common/errors.ts";
import { MODEL_NAME, MODEL_NAME_RULE, modelNameFrom } from "../../../common/model-name.ts";
import {
  FUNCTION_TASK,
  SERVING_NODES_MAX,
  servedId,
  TRAINED_TYPES,
  type TrainedTask,
  trainedTask,
} from "../../../common/training/trained-manifest.ts";
import type { PublishVersionRequest } from "../../../proto/gen/tributary/training/v1/trained_models.ts";
import type { ServingNodes, TrainedModel } from "../../domain/trained-records.ts";

const LINEAGE_BYTES_MAX = 64 * 1024;
const ORGANIZATIONS_MAX = 100;
const TYPES = ["chat", "completion", "embedding", "moderation"] as const;
const FORMATS = ["safetensors", "npz", "npy", "msgpack"] as const;
const VISIBILITIES = ["organization", "listed", "public"] as const;
const UNITS = ["token", "call"] as const;

const request = z.object({
  model: z.string().regex(MODEL_NAME, { error: ({ input }) => nameProblem(input) }),
  blob: z.string().regex(/^[0-9a-f]{64}$/, "must be the SHA-256 of the parameters, 64 hex digits"),
  type: z.enum(TYPES, `must be one of ${TYPES.join(", ")}`).optional(),
  format: z.enum(FORMATS, `must be one of ${FORMATS.join(", ")}`).optional(),
  visibility: z.enum(VISIBILITIES, `must be one of ${VISIBILITIES.join(", ")}`).optional(),
  allowedOrganizationIds: z.array(z.string().min(1).max(100)).max(ORGANIZATIONS_MAX),
  percent: z.int().min(0).max(99, "must be 0 to 99; leave it out for all calls").optional(),
  description: z.string().max(2000).optional(),
});

/** A validated request to publish a version, before its model is looked up. */
export interface Publication {
  readonly name: string;
  readonly task: TrainedTask;
  readonly type: string;
  readonly blob: string;
  readonly format: string | undefined;
  readonly lineage: string;
  readonly servers: ServingNodes | undefined;
  readonly visibility: TrainedModel["visibility"] | undefined;
  readonly allowedOrganizationIds: readonly string[];
  readonly percent: number | undefined;
  readonly description: string | undefined;
}

export function readPublication(message: PublishVersionRequest): Publication {
  const { model: name, ...fields } = checked(request, { ...message, blob: message.blob.toLowerCase() }, "body");
  const task = checked(trainedTask, parsed(message.taskJson, "body.task"), "body.task");
  refuseUnknownClasses(task);
  const servers = serversOf(message, task);
  if (servedId({ ...task, blob: fields.blob, ...servedFrom(servers) }) === undefined) {
    refuse("body.task.labels", "is too long: names of classes and columns must fit into 6000 bytes together");
  }
  if (message.pricing && !UNITS.some((unit) => unit === (message.pricing?.unit ?? "token"))) {
    refuse("body.pricing.unit", `must be one of ${UNITS.join(", ")}`);
  }
  return {
    ...fields,
    name,
    task,
    type: fields.type ?? TRAINED_TYPES[task.task],
    format: fields.format,
    servers,
    lineage: lineageOf(message.lineageJson),
    visibility: fields.visibility,
    percent: fields.percent,
    description: fields.description,
  };
}

/** The part of a manifest that names the nodes of an own function. */
export const servedFrom = (servers: ServingNodes | undefined) =>
  servers ? { federation: { id: servers.federationId, participants: [...servers.participantIds] } } : {};

/** An own function needs the nodes that have it, and a built-in task has none. */
function serversOf(message: PublishVersionRequest, task: TrainedTask): ServingNodes | undefined {
  const { servingFederationId: federationId, servingParticipantIds: participantIds } = message;
  if (task.task !== FUNCTION_TASK) {
    if (participantIds.length > 0) refuse("body.servedBy", "needs a model of own functions");
    return undefined;
  }
  if (federationId === undefined || participantIds.length === 0)
    refuse("body.task.task", "function is for a federation whose nodes have a serve function: publish the federation");
  if (participantIds.length > SERVING_NODES_MAX) refuse("body.servedBy", `must have at most ${SERVING_NODES_MAX} participants`);
  if (new Set(participantIds).size < participantIds.length) refuse("body.servedBy", "must not have the same participant twice");
  for (const field of ["labels", "flagged", "columns"] as const)
    if (task[field]) refuse(`body.${field}`, "is for built-in tasks; a serve function reads its input itself");
  return { federationId, participantIds };
}

function nameProblem(given: unknown): string {
  const near = typeof given === "string" ? modelNameFrom(given) : undefined;
  return near === undefined ? MODEL_NAME_RULE : `${MODEL_NAME_RULE}; "${near}" would be valid`;
}

function refuseUnknownClasses({ labels, flagged }: TrainedTask): void {
  if (labels && new Set(labels).size < labels.length) refuse("body.task.labels", "must not have the same name twice");
  const unknown = labels && flagged?.find((name) => !labels.includes(name));
  if (unknown !== undefined) refuse("body.task.flagged", `contains "${unknown}", which is not one of the labels`);
}

function lineageOf(json: string): string {
  const text = json === "" ? "{}" : json;
  if (Buffer.byteLength(text) > LINEAGE_BYTES_MAX) refuse("body.lineage", `must have at most ${LINEAGE_BYTES_MAX} bytes`);
  const value = parsed(text, "body.lineage");
  if (typeof value !== "object" || value === null || Array.isArray(value)) refuse("body.lineage", "must be an object");
  return JSON.stringify(value);
}

function parsed(json: string, path: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return refuse(path, "must be JSON");
  }
}

function checked<Schema extends z.ZodType>(schema: Schema, value: unknown, path: string): z.output<Schema> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const details = result.error.issues.map((issue) => ({ path: [path, ...issue.path].join("."), message: issue.message }));
  throw new AppError("VALIDATION_ERROR", `${details[0]?.path}: ${details[0]?.message}`, { details });
}

function refuse(path: string, message: string): never {
  throw new AppError("VALIDATION_ERROR", `${path}: ${message}`, { details: [{ path, message }] });
}
