import { z } from "zod";
import { canonicalJson } from "../json.ts";

/** The task of a model that nodes of a federation serve with their own function. */
export const FUNCTION_TASK = "function";
/** Most nodes that serve one version. */
export const SERVING_NODES_MAX = 64;
/** Largest call of such a function as JSON. It has its input twice, as text and as messages. */
export const FUNCTION_CALL_BYTES_MAX = 8 * 1024 * 1024;

/** The model type of each task of the trainer node, and of own functions. */
export const TRAINED_TYPES = {
  softmax: "moderation",
  logistic: "moderation",
  mlp: "moderation",
  cnn: "moderation",
  text_classifier: "moderation",
  linear: "chat",
  text_embedding: "embedding",
  byte_lm: "completion",
  [FUNCTION_TASK]: "chat",
} as const;

/** Parameters that every node generates identically. */
const BUILT_IN_RECIPES = ["digits"] as const;

const LABELS_MAX = 1000;
/** The limit exists because the manifest is sent in a URL as base64url, and servers accept 16 KiB of headers. */
const MANIFEST_BYTES_MAX = 6000;

const sha256 = z.string().regex(/^[0-9a-f]{64}$/, "must be the 64 hex digits of a SHA-256");
const taskNames = Object.keys(TRAINED_TYPES) as [keyof typeof TRAINED_TYPES];
const names = z.array(z.string().min(1).max(100)).min(1).max(LABELS_MAX);

/** The part of a manifest that the publisher sets. */
export const trainedTask = z.strictObject({
  task: z.enum(taskNames, `must be one of ${taskNames.join(", ")}`),
  /** Class names, in order; numbers if absent. */
  labels: names.optional(),
  /** Names of classes that moderation flags; all but the first if absent. */
  flagged: z.array(z.string().max(100)).max(LABELS_MAX).optional(),
  /** Column names in the order of the features, so that a row may be an object. */
  columns: z.array(z.string().min(1).max(100)).min(1).max(LABELS_MAX).optional(),
});
export type TrainedTask = z.output<typeof trainedTask>;

const manifest = trainedTask.extend({
  blob: sha256.optional(),
  builtin: z.enum(BUILT_IN_RECIPES).optional(),
  /** The participants whose serve function answers: calls go to them through the coordinator. */
  federation: z
    .strictObject({ id: z.string().min(1).max(100), participants: z.array(z.string().min(1).max(100)).min(1).max(SERVING_NODES_MAX) })
    .optional(),
});

/**
 * Everything a node needs to serve a model: how to read the input, and the hash of the parameters. The encoded manifest is the model's name,
 * so that nodes need no list of models and any node with access to the parameters can serve it.
 */
export type Manifest = z.output<typeof manifest>;

/** The name that encodes the manifest; undefined if it is too long. */
export function servedId(given: Manifest): string | undefined {
  const text = Buffer.from(canonicalJson(given));
  return text.length > MANIFEST_BYTES_MAX ? undefined : text.toString("base64url");
}

/** Decodes a manifest from a name; undefined if the name is not a manifest. */
export function readServedId(id: string): Manifest | undefined {
  if (!/^[A-Za-z0-9_-]{2,8192}$/.test(id)) return undefined;
  try {
    const { data } = manifest.safeParse(JSON.parse(Buffer.from(id, "base64url").toString("utf8")));
    return data && isWhole(data) ? data : undefined;
  } catch {
    return undefined;
  }
}

/** A manifest names parameters or a recipe; parameters of an own function come with the nodes that have the function. */
function isWhole({ task, blob, builtin, federation }: Manifest): boolean {
  if ((task === FUNCTION_TASK) !== (federation !== undefined)) return false;
  return (blob === undefined) !== (builtin === undefined) && (federation === undefined || blob !== undefined);
}
