import { z } from "zod";
import { SEED_MAX } from "../compute/random.ts";
import { CLIENTS_MAX } from "../operations/call-limits.ts";
import {
  bytes,
  clientId,
  clipNorm,
  digest,
  isNoiseBounded,
  NOISE_NEEDS_BOUND,
  noiseMultiplier,
  parseWith,
  reference,
  roundId,
  unknownFields,
} from "../operations/schemas.ts";

/**
 * The answer names the seed and the node bounds the update (bound-update.ts), so these settings are checked. All other settings are between
 * the caller and the function.
 */
const config = z
  .looseObject({ seed: z.int().min(0).max(SEED_MAX).nullish(), clip_norm: clipNorm.nullish(), noise_multiplier: noiseMultiplier.nullish() })
  .refine(isNoiseBounded, NOISE_NEEDS_BOUND)
  .nullish()
  .transform((value) => value ?? {});

const common = {
  config,
  format: z.string().max(100).nullish(),
  round_id: roundId,
  client_id: clientId,
  base_hash: digest.nullish(),
  method: z.string().nullish(),
};

const datasetCall = z.object({
  ...common,
  parameters: bytes.nullish(),
  parameters_ref: reference.nullish(),
  dataset: z.unknown().optional(),
});

const aggregateCall = z.object({
  ...common,
  parameters_list: z.array(bytes, "must be a list of base64 texts").max(CLIENTS_MAX).nullish(),
  parameters_refs: z.array(reference).max(CLIENTS_MAX).nullish(),
  weights: z.array(z.number().min(0)).nullish(),
  client_ids: z.array(z.string().max(1024)).nullish(),
  strategy: z.looseObject({}).nullish(),
  base: bytes.nullish(),
  base_ref: reference.nullish(),
  state: bytes.nullish(),
  on_invalid: z.enum(["refuse", "drop"], "must be one of: refuse, drop").default("refuse"),
});

const serveCall = z.object({
  ...common,
  parameters: bytes.nullish(),
  parameters_ref: reference.nullish(),
  input: z.string("must be a string"),
});

/** The checked body of /train or /evaluate for a registered function. */
export type DatasetCall = z.infer<typeof datasetCall>;
/** The checked body of /aggregate for a registered function. */
export type AggregateCall = z.infer<typeof aggregateCall>;

/** The checked body of /serve. */
export type ServeCall = z.infer<typeof serveCall>;

/** Checks the body of /train or /evaluate. */
export function parseDatasetCall(value: object): { body: DatasetCall; warnings: string[] } {
  return { body: parseWith(datasetCall, value, "body"), warnings: unknownFields(value, datasetCall.shape, "") };
}

/** Checks the body of /aggregate. */
export function parseAggregateCall(value: object): { body: AggregateCall; warnings: string[] } {
  return { body: parseWith(aggregateCall, value, "body"), warnings: unknownFields(value, aggregateCall.shape, "") };
}

/** Checks the body of /serve. */
export function parseServeCall(value: object): { body: ServeCall; warnings: string[] } {
  return { body: parseWith(serveCall, value, "body"), warnings: unknownFields(value, serveCall.shape, "") };
}
