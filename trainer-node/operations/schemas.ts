import { z } from "zod";
import { FORMATS } from "../codec/parameters.ts";
import { SEED_MAX } from "../compute/random.ts";
import { TENSOR_LIMITS } from "../compute/tensor.ts";
import { TrainerError } from "../errors.ts";

/** What this node can do, by name; `/v1/info` describes each. */
const TASKS = ["softmax"] as const;
const STRATEGIES = ["mean"] as const;
export const CLIENTS_MAX = 10_000;

const base64 = z.string("must be base64 text");
const seed = z.int().min(0).max(SEED_MAX);
const format = z.enum(FORMATS, `must be one of: ${FORMATS.join(", ")}`);
const digest = z.string().regex(/^[0-9a-fA-F]{64}$/, "must be a sha-256 in hex");

/** A setting of the contract that would change the result and is not built yet: its neutral value passes, anything else is refused, not ignored. */
const notOffered = z.literal(0, "is not offered by this node yet").nullish();

const config = z.object({
  task: z.enum(TASKS, `must be one of: ${TASKS.join(", ")}`).default("softmax"),
  epochs: z.int().min(1).max(1000).default(1),
  batch_size: z.int().min(1).max(100_000).default(10),
  lr: z.number().positive().max(100).default(0.1),
  seed: seed.optional(),
  optimizer: z.literal("sgd", "must be one of: sgd").optional(),
  mu: notOffered,
  clip_norm: notOffered,
  noise_multiplier: notOffered,
});

const participantRequest = z.object({
  parameters: base64.nullish(),
  dataset: z.unknown().optional(),
  config: config.nullish().transform((value) => value ?? config.parse({})),
  format: format.nullish(),
  round_id: z.union([z.string(), z.number()]).nullish(),
  base_hash: digest.nullish(),
});

const strategy = z.object({ name: z.enum(STRATEGIES, `must be one of: ${STRATEGIES.join(", ")}`).default("mean") });

const aggregateRequest = z.object({
  parameters_list: z.array(base64, "must be a list of base64 texts").max(CLIENTS_MAX),
  weights: z.array(z.number().min(0)).nullish(),
  client_ids: z.array(z.string().max(TENSOR_LIMITS.nameBytesMax)).nullish(),
  strategy: strategy.nullish(),
  on_invalid: z.enum(["refuse", "drop"], "must be one of: refuse, drop").default("refuse"),
  round_id: z.union([z.string(), z.number()]).nullish(),
});

export type ParticipantRequest = z.infer<typeof participantRequest>;
export type AggregateRequest = z.infer<typeof aggregateRequest>;

/** A checked body and what was in it that nobody reads. */
export interface Parsed<Body> {
  readonly body: Body;
  readonly warnings: string[];
}

export function parseParticipantRequest(value: unknown): Parsed<ParticipantRequest> {
  const body = parseWith(participantRequest, value, "body");
  const settings = (value as { config?: unknown }).config;
  return { body, warnings: [...unknownFields(value, participantRequest.shape, ""), ...unknownFields(settings, config.shape, "config.")] };
}

export function parseAggregateRequest(value: unknown): Parsed<AggregateRequest> {
  const body = parseWith(aggregateRequest, value, "body");
  const settings = (value as { strategy?: unknown }).strategy;
  return { body, warnings: [...unknownFields(value, aggregateRequest.shape, ""), ...unknownFields(settings, strategy.shape, "strategy.")] };
}

/** Every problem of a value at once, each with its path. */
export function parseWith<Schema extends z.ZodType>(schema: Schema, value: unknown, where: string): z.infer<Schema> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const problems = result.error.issues.slice(0, 20).map((issue) => ({ path: [where, ...issue.path].join("."), message: issue.message }));
  const summary = problems.map((problem) => `${problem.path}: ${problem.message}`).join("; ");
  throw new TrainerError("VALIDATION_ERROR", summary, { details: { problems } });
}

function unknownFields(value: unknown, shape: object, prefix: string): string[] {
  if (typeof value !== "object" || value === null) return [];
  const unknown = Object.keys(value).filter((key) => !Object.hasOwn(shape, key));
  return unknown.slice(0, 20).map((key) => `unknown field ignored: ${prefix}${key.slice(0, 100)}`);
}
