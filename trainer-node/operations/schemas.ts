import { z } from "zod";
import { FORMATS } from "../codec/parameters.ts";
import { STRATEGY_NAMES } from "../compute/aggregators/registry.ts";
import { SEED_MAX } from "../compute/random.ts";
import { TASK_NAMES } from "../compute/tasks/registry.ts";
import { TENSOR_LIMITS } from "../compute/tensor.ts";
import { TrainerError } from "../errors.ts";
import { CLIENTS_MAX } from "./call-limits.ts";
import { ClientEntry } from "./client-intake.ts";

/** A base64 field, decoded while the body is read. */
export const bytes = z.custom<Uint8Array>((value) => value instanceof Uint8Array, "must be a base64 string");
const entry = z.custom<ClientEntry>((value) => value instanceof ClientEntry, "must be a base64 string");
const seed = z.int().min(0).max(SEED_MAX);
const format = z.enum(FORMATS, `must be one of: ${FORMATS.join(", ")}`);
/** A SHA-256 in hex. */
export const digest = z.string().regex(/^[0-9a-fA-F]{64}$/, "must be a SHA-256 in hex");
/** The name of a blob: the digest of `PUT /v1/blobs/{sha256}`, or the `ref` in its answer. */
export const reference = z
  .string()
  .regex(/^(?:sha256:)?[0-9a-fA-F]{64}$/, "must be the SHA-256 of a blob: 64 hex digits, with or without the prefix sha256:")
  .transform((text) => `sha256:${text.slice(-64).toLowerCase()}`);
/** The round of a call. */
export const roundId = z.union([z.string(), z.number()]).nullish();
/** The id of the participant in its federation. */
export const clientId = z.string().max(512).nullish();

/** Greatest norm of an update; 0 for no limit. */
export const clipNorm = z.number().min(0);
/** Standard deviation of the noise on each number of an update, in units of clip_norm. */
export const noiseMultiplier = z.number().min(0).max(1e6);

interface Noise {
  readonly noise_multiplier?: number | null | undefined;
  readonly clip_norm?: number | null | undefined;
}

/** Whether noise comes with a bound on the update, without which it hides nothing. */
export const isNoiseBounded = ({ noise_multiplier: noise, clip_norm: clip }: Noise): boolean => !noise || (clip ?? 0) > 0;
/** The problem that a config with unbounded noise has. */
export const NOISE_NEEDS_BOUND = {
  path: ["noise_multiplier"],
  message: "requires a clip_norm above 0: without a bound on the update, noise does not hide it",
};

const pair = z.tuple([z.number(), z.number()]);

const settings = z.object({
  task: z.enum(TASK_NAMES as [string, ...string[]], `must be one of: ${TASK_NAMES.join(", ")}`).default("softmax"),
  epochs: z.int().min(1).max(1000).default(1),
  batch_size: z.int().min(1).max(100_000).default(10),
  lr: z.number().positive().max(100).default(0.1),
  seed: seed.optional(),
  optimizer: z.enum(["sgd", "momentum", "adam"], "must be one of: sgd, momentum, adam").default("sgd"),
  momentum: z.number().min(0).lt(1).default(0.9),
  mu: z.number().min(0).max(1000).nullish(),
  clip_norm: clipNorm.nullish(),
  noise_multiplier: noiseMultiplier.nullish(),
  /**
   * Whether to run the client's side of SCAFFOLD. Its control variate comes and goes as `state`. "change": the answer has its change alone,
   * for a caller that sums the changes and sends the sum as tensors `own_control:w`.
   */
  scaffold: z.union([z.boolean(), z.literal("change")], "must be true, false or change").nullish(),
  /** Whether to report the loss of the parameters on the data before the training, as `loss_before` of the metrics. */
  loss_before: z.boolean().nullish(),
  /** Whether to answer with a new model for the data, without training it. */
  untrained: z.boolean().nullish(),
  /** How the update is compressed (compressed-train.ts). */
  compress: z.unknown().optional(),
  classes: z.int().min(2).max(10_000).optional(),
  hidden: z.array(z.int().min(1).max(8192)).min(1).max(8).optional(),
  filters: z.int().min(1).max(128).optional(),
  buckets: z
    .int()
    .min(16)
    .max(2 ** 20)
    .optional(),
  dimensions: z.int().min(1).max(1024).optional(),
  context: z.int().min(1).max(256).optional(),
  bounds: z.union([pair, z.array(pair).min(1)], "must be [low, high], or a list of such pairs").optional(),
  columns: z.array(z.int().min(0)).min(1).max(10_000).optional(),
  bins: z.int().min(1).max(1000).optional(),
  rows_max: z.number().positive().optional(),
  /** What the sum of the updates was divided by to make the parameters; from the coordinator. */
  clients: z.number().positive().optional(),
});
const config = settings
  .refine(isNoiseBounded, NOISE_NEEDS_BOUND)
  .refine(({ scaffold, optimizer }) => !scaffold || optimizer === "sgd", {
    path: ["scaffold"],
    message: "requires the optimizer sgd: control variates are means of plain gradients",
  })
  .refine(({ scaffold, noise_multiplier: noise }) => !scaffold || !noise, {
    path: ["scaffold"],
    message: "cannot be combined with noise_multiplier: the control variates would reveal what the noise hides",
  })
  .refine(({ loss_before: isReported, noise_multiplier: noise }) => !isReported || !noise, {
    path: ["loss_before"],
    message: "cannot be combined with noise_multiplier: the exact loss would reveal what the noise hides",
  });

const participantRequest = z.object({
  parameters: bytes.nullish(),
  parameters_ref: reference.nullish(),
  state: bytes.nullish(),
  dataset: z.unknown().optional(),
  config: config.nullish().transform((value) => value ?? config.parse({})),
  format: format.nullish(),
  round_id: roundId,
  client_id: clientId,
  base_hash: digest.nullish(),
  /** The name of the operation, for /call. */
  method: z.string().nullish(),
});

const aggregateRequest = z.object({
  parameters_list: z.array(entry, "must be a list of base64 strings").max(CLIENTS_MAX).nullish(),
  parameters_refs: z.array(reference).max(CLIENTS_MAX).nullish(),
  weights: z.array(z.number().min(0)).nullish(),
  client_ids: z.array(z.string().max(TENSOR_LIMITS.nameBytesMax)).nullish(),
  strategy: z
    .looseObject({ name: z.enum(STRATEGY_NAMES as [string, ...string[]], `must be one of: ${STRATEGY_NAMES.join(", ")}`).default("mean") })
    .nullish(),
  base: bytes.nullish(),
  base_ref: reference.nullish(),
  state: bytes.nullish(),
  on_invalid: z.enum(["refuse", "drop"], "must be one of: refuse, drop").default("refuse"),
  round_id: roundId,
  base_hash: digest.nullish(),
  method: z.string().nullish(),
});

/** The checked body of /train, /evaluate or /predict. */
export type ParticipantRequest = z.infer<typeof participantRequest>;
/** The checked body of /aggregate. */
export type AggregateRequest = z.infer<typeof aggregateRequest>;

/** A checked body, with a warning for every field that is not read. */
interface Parsed<Body> {
  readonly body: Body;
  readonly warnings: string[];
}

/** Checks the body of /train, /evaluate or /predict. */
export function parseParticipantRequest(value: object): Parsed<ParticipantRequest> {
  const body = parseWith(participantRequest, value, "body");
  return {
    body,
    warnings: [
      ...unknownFields(value, participantRequest.shape, ""),
      ...unknownFields((value as { config?: unknown }).config, settings.shape, "config."),
    ],
  };
}

/** Checks the body of /aggregate. */
export function parseAggregateRequest(value: object): Parsed<AggregateRequest> {
  const body = parseWith(aggregateRequest, value, "body");
  return { body, warnings: unknownFields(value, aggregateRequest.shape, "") };
}

/** Checks a value and reports every problem at once, each with its path. */
export function parseWith<Schema extends z.ZodType>(schema: Schema, value: unknown, where: string): z.infer<Schema> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const problems = result.error.issues.slice(0, 20).map((issue) => ({ path: [where, ...issue.path].join("."), message: issue.message }));
  const summary = problems.map((problem) => `${problem.path}: ${problem.message}`).join("; ");
  throw new TrainerError("VALIDATION_ERROR", summary, { details: { problems } });
}

/** A warning for every field that the shape does not have. */
export function unknownFields(value: unknown, shape: object, prefix: string): string[] {
  if (typeof value !== "object" || value === null) return [];
  const unknown = Object.keys(value).filter((key) => !Object.hasOwn(shape, key));
  return unknown.slice(0, 20).map((key) => `unknown field ignored: ${prefix}${key.slice(0, 100)}`);
}
