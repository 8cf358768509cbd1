import { z } from "zod";
import { canonicalJson } from "./json.ts";

/** What a trained model is for, by the task that it was trained with; the tasks are the trainer node's. */
export const TRAINED_TYPES = {
  softmax: "moderation",
  logistic: "moderation",
  mlp: "moderation",
  cnn: "moderation",
  text_classifier: "moderation",
  linear: "chat",
  text_embedding: "embedding",
  byte_lm: "completion",
} as const;

/** Parameters that a node makes by itself, the same on every node. */
const BUILT_IN_RECIPES = ["digits"] as const;

const LABELS_MAX = 1000;
/** It travels in an address, as base64url; servers take 16 KiB of head. */
const MANIFEST_BYTES_MAX = 6000;

const sha256 = z.string().regex(/^[0-9a-f]{64}$/, "must be the 64 hex digits of a SHA-256");
const taskNames = Object.keys(TRAINED_TYPES) as [keyof typeof TRAINED_TYPES];
const names = z.array(z.string().min(1).max(100)).min(1).max(LABELS_MAX);

/** The part of a manifest that whoever publishes says of the task. */
export const trainedTask = z.strictObject({
  task: z.enum(taskNames, `must be one of ${taskNames.join(", ")}`),
  /** Names of the classes, in their order; their numbers where absent. */
  labels: names.optional(),
  /** Names of the classes that moderation flags; all but the first where absent. */
  flagged: z.array(z.string().max(100)).max(LABELS_MAX).optional(),
  /** Names of a row's fields in the order of the features, so that a row may be an object in any order. */
  columns: z.array(z.string().min(1).max(100)).min(1).max(LABELS_MAX).optional(),
});
export type TrainedTask = z.output<typeof trainedTask>;

const manifest = trainedTask.extend({
  blob: sha256.optional(),
  builtin: z.enum(BUILT_IN_RECIPES).optional(),
});

/**
 * Everything a node needs to know to answer for a model: what to make of its input, and the hash of its parameters. It is its own name,
 * so that nodes keep no list of models and any node with access to the parameters can answer.
 */
export type Manifest = z.output<typeof manifest>;

/** The name a model is served under; undefined when the manifest is too long for one. */
export function servedId(given: Manifest): string | undefined {
  const text = Buffer.from(canonicalJson(given));
  return text.length > MANIFEST_BYTES_MAX ? undefined : text.toString("base64url");
}

/** The manifest behind a name; undefined for what is none. */
export function readServedId(id: string): Manifest | undefined {
  if (!/^[A-Za-z0-9_-]{2,8192}$/.test(id)) return undefined;
  try {
    const { data } = manifest.safeParse(JSON.parse(Buffer.from(id, "base64url").toString("utf8")));
    return data && (data.blob === undefined) !== (data.builtin === undefined) ? data : undefined;
  } catch {
    return undefined;
  }
}
