import { z } from "zod";
import { FORMATS } from "../codec/parameters.ts";
import { STRATEGY_NAMES } from "../compute/aggregators/registry.ts";
import { SEED_MAX } from "../compute/random.ts";
import { TASK_NAMES } from "../compute/tasks/registry.ts";
import { TENSOR_LIMITS } from "../compute/tensor.ts";
import { TrainerError } from "../errors.ts";
import { CLIENTS_MAX } from "./call-limits.ts";
import { ClientEntry } from "./client-intake.ts";

export const bytes = z.custom<Uint8Array>((value) => value instanceof Uint8Array, "must be base64 text");
const entry = z.custom<ClientEntry>((value) => value instanceof ClientEntry, "must be base64 text");
const seed = z.int().min(0).max(SEED_MAX);
const format = z.enum(FORMATS, `must be one of: ${FORMATS.join(", ")}`);
export const digest = z.string().regex(/^[0-9a-fA-F]{64}$/, "must be a sha-256 in hex");
/** A blob by its name: the digest as `PUT /v1/blobs/{sha256}` has it, or the `ref` that it answers. */
export const reference = z
  .string()
  .regex(/^(?:sha256:)?[0-9a-fA-F]{64}$/, "must be the sha-256 of a blob: 64 hex digits, or sha256: and those")
  .transform((text) => `sha256:${text.slice(-64).toLowerCase()}`);
export const roundId = z.union([z.string(), z.number()]).nullish();

export const clipNorm = z.number().min(0);
/** Standard deviation of the noise on each number of the update, in units of clip_norm. */
export const noiseMultiplier = z.number().min(0).max(1e6);

interface Noise {
  readonly noise_multiplier?: number | null | undefined;
  readonly clip_norm?: number | null | undefined;
}

export const isNoiseBounded = ({ noise_multiplier: noise, clip_norm: clip }: Noise): boolean => !noise || (clip ?? 0) > 0;
export const NOISE_NEEDS_BOUND = {
  path: ["noise_multiplier"],
  message: "needs a clip_norm above 0: without a bound on the update no noise hides it",
};

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
  /** The client's side of SCAFFOLD: its control variate comes and goes as `state`. */
  scaffold: z.boolean().nullish(),
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
});
const config = settings
  .refine(isNoiseBounded, NOISE_NEEDS_BOUND)
  .refine(({ scaffold, optimizer }) => !scaffold || optimizer === "sgd", {
    path: ["scaffold"],
    message: "needs the optimizer sgd: control variates are means of plain gradients",
  })
  .refine(({ scaffold, noise_multiplier: noise }) => !scaffold || !noise, {
    path: ["scaffold"],
    message: "cannot go with noise_multiplier: the control variates would tell what the noise hides",
  });

const participantRequest = z.object({
  parameters: bytes.nullish(),
  parameters_ref: reference.nullish(),
  state: bytes.nullish(),
  dataset: z.unknown().optional(),
  config: config.nullish().transform((value) => value ?? config.parse({})),
  format: format.nullish(),
  round_id: roundId,
  base_hash: digest.nullish(),
  /** The name of the operation where the route does not say it. */
  method: z.string().nullish(),
});

const aggregateRequest = z.object({
  parameters_list: z.array(entry, "must be a list of base64 texts").max(CLIENTS_MAX).nullish(),
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

export type ParticipantRequest = z.infer<typeof participantRequest>;
export type AggregateRequest = z.infer<typeof aggregateRequest>;

/** A checked body and what was in it that nobody reads. */
interface Parsed<Body> {
  readonly body: Body;
  readonly warnings: string[];
}

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

export function parseAggregateRequest(value: object): Parsed<AggregateRequest> {
  const body = parseWith(aggregateRequest, value, "body");
  return { body, warnings: unknownFields(value, aggregateRequest.shape, "") };
}

/** Every problem of a value at once, each with its path. */
export function parseWith<Schema extends z.ZodType>(schema: Schema, value: unknown, where: string): z.infer<Schema> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const problems = result.error.issues.slice(0, 20).map((issue) => ({ path: [where, ...issue.path].join("."), message: issue.message }));
  const summary = problems.map((problem) => `${problem.path}: ${problem.message}`).join("; ");
  throw new TrainerError("VALIDATION_ERROR", summary, { details: { problems } });
}

export function unknownFields(value: unknown, shape: object, prefix: string): string[] {
  if (typeof value !== "object" || value === null) return [];
  const unknown = Object.keys(value).filter((key) => !Object.hasOwn(shape, key));
  return unknown.slice(0, 20).map((key) => `unknown field ignored: ${prefix}${key.slice(0, 100)}`);
}
