import { z } from "zod";
import { plainText } from "../fields.ts";

const MODEL_LENGTH_MAX = 200;
const FALLBACKS_MAX = 20;
const DEPLOYMENTS_MAX = 200;
const WEIGHT_MAX = 1_000_000;

const weight = z.number().min(0, "must not be negative").max(WEIGHT_MAX);
/** Lower values are used first. */
const order = z.int().min(0).max(DEPLOYMENTS_MAX);
const names = z.array(plainText(MODEL_LENGTH_MAX)).max(FALLBACKS_MAX);

/** Null: not set here; then the configuration file's, or the default, applies. */
export const storedRoutingRecord = z
  .object({
    strategy: z.string().nullable(),
    deployments: z.array(z.object({ id: z.string(), weight: z.number().nullable(), order: z.number().nullable() })),
    fallbacks: z.object({
      general: z.array(z.string()).nullable(),
      contextWindow: z.array(z.string()).nullable(),
      contentPolicy: z.array(z.string()).nullable(),
    }),
  })
  .meta({ id: "StoredRouting" });

/** Replaces what is stored of the model group; what is absent or null is not set. */
export const updateRoutingBody = z.object({
  strategy: z.string().max(100).nullish(),
  deployments: z
    .array(z.object({ id: z.string().max(MODEL_LENGTH_MAX), weight: weight.nullish(), order: order.nullish() }))
    .max(DEPLOYMENTS_MAX)
    .default([]),
  fallbacks: z.object({ general: names.nullish(), contextWindow: names.nullish(), contentPolicy: names.nullish() }).default({}),
});
export const routingParams = z.object({ model: plainText(MODEL_LENGTH_MAX) });
export const updateRoutingAnswer = z.object({ model: z.string(), stored: storedRoutingRecord, fileFields: z.array(z.string()) });
