import { z } from "zod";
import { id, plainText } from "../fields.ts";
import { listOf, money, pageMeta } from "../records.ts";
import { pricing } from "./catalog.ts";

const timestamp = z.date();
const NAMES_MAX = 1000;
const names = z.array(plainText(100)).max(NAMES_MAX);

/** How the parameters are served. A trainer node lists all tasks at /v1/info. */
const task = z.object({
  task: plainText(64),
  /** Names of the classes, in order. */
  labels: names.min(1).optional(),
  /** Names of the classes that /v1/moderations flags. */
  flagged: names.optional(),
  /** Names of a row's fields, in feature order. */
  columns: names.min(1).optional(),
});

export const publishBody = z.object({
  model: plainText(100),
  /** SHA-256 of parameters that the organization uploaded (`PUT /training/blobs/{sha256}`) or that its federations made. */
  blob: plainText(64),
  task,
  type: z.enum(["chat", "completion", "embedding", "moderation"]).optional(),
  format: z.enum(["safetensors", "npz", "npy", "msgpack"]).optional(),
  pricing: pricing.pick({ unit: true, input: true, output: true }).optional(),
  lineage: z.record(z.string(), z.unknown()).default({}),
  visibility: z.enum(["organization", "listed", "public"]).optional(),
  allowedOrganizationIds: z.array(id).max(100).default([]),
  description: plainText(2000).optional(),
  percent: z.int().min(0).max(99, "must be from 0 to 99; omit it to send all calls to this version").optional(),
  teamId: id.optional(),
  organizationId: id.optional(),
});

/** An id, or a name in the active organization; slashes in a name must be percent-encoded. */
export const modelParams = z.object({ model: plainText(300) });
export const rollBackBody = z.object({ version: z.int32().min(1).optional() });
export const splitBody = z.object({ version: z.int32().min(1), percent: z.int().min(0).max(100) });

const trainedModelRecord = z
  .object({
    id: z.string(),
    name: z.string(),
    organizationId: z.string(),
    teamId: z.string().nullable(),
    type: z.string(),
    description: z.string(),
    visibility: z.string(),
    allowedOrganizationIds: z.array(z.string()),
    traffic: z.array(z.object({ version: z.int(), percent: z.int() })),
    latestVersion: z.int(),
    pricing: z.object({ version: z.int(), unit: z.string(), ...money("input", "output") }).nullable(),
    createdAt: timestamp,
    updatedAt: timestamp,
  })
  .meta({ id: "TrainedModel" });

const trainedVersionRecord = z
  .object({
    version: z.int(),
    blob: z.string().nullable(),
    format: z.string().nullable(),
    task: z.record(z.string(), z.unknown()),
    lineage: z.record(z.string(), z.unknown()),
    percent: z.int(),
    createdBy: z.bigint().nullable(),
    createdAt: timestamp,
    /** The participants whose own function answers; empty: the operator's nodes serve a built-in task. */
    servedBy: z.array(z.string()),
  })
  .meta({ id: "TrainedVersion" });

export type TrainedModelRecord = z.infer<typeof trainedModelRecord>;
export type TrainedVersionRecord = z.infer<typeof trainedVersionRecord>;

export const publishAnswer = z.object({ model: trainedModelRecord, version: trainedVersionRecord });
export const trainedModelAnswer = z.object({ model: trainedModelRecord });
export const listTrainedAnswer = listOf(trainedModelRecord);
export const listVersionsAnswer = z.object({ model: trainedModelRecord, data: z.array(trainedVersionRecord), meta: pageMeta });
