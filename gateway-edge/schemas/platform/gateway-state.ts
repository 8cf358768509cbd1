import { z } from "zod";
import { configuredCacheRecord } from "./cache.ts";
import { guardrailKindRecord, guardrailRecord } from "./guardrails.ts";
import { storedRoutingRecord } from "./routing.ts";

// The state of the edge that answers. Edges behind one address share settings; counts and health are per edge.

const timestamp = z.date();

const deploymentHealthRecord = z.object({
  /** up, cooling (no calls during the cool-down) or probing (the next call decides). */
  state: z.enum(["up", "cooling", "probing"]),
  coolingMs: z.int(),
  coolingCause: z.enum(["rate-limit", "failure"]).nullable(),
  inFlight: z.int(),
  requestsThisMinute: z.int(),
  tokensThisMinute: z.int(),
  succeeded: z.int(),
  failed: z.int(),
  lastFailure: z.object({ kind: z.string(), at: timestamp }).nullable(),
  /** Time to first token of recent streams, weighted toward peaks. */
  firstTokenMs: z.number().nullable(),
});

const deploymentRecord = z
  .object({
    id: z.string(),
    providerKind: z.string(),
    provider: z.string(),
    providerId: z.string(),
    /** Where it is defined: catalog, configuration (the file) or training (a published version). */
    source: z.enum(["catalog", "configuration", "training"]),
    inferenceModelId: z.string(),
    weight: z.number().nullable(),
    /** Lower values are used first; null comes last. */
    order: z.number().nullable(),
    requestsPerMinute: z.number().nullable(),
    tokensPerMinute: z.number().nullable(),
    maxParallel: z.number().nullable(),
    tags: z.array(z.string()),
    teamId: z.string().nullable(),
    organizationIds: z.array(z.string()),
    health: deploymentHealthRecord,
  })
  .meta({ id: "RoutingDeployment" });

const modelGroupRecord = z
  .object({
    name: z.string(),
    strategy: z.string(),
    deployments: z.array(deploymentRecord),
    fallbacks: z.object({ general: z.array(z.string()), contextWindow: z.array(z.string()), contentPolicy: z.array(z.string()) }),
    /** What is stored of it, and so can be changed here. */
    stored: storedRoutingRecord,
    /** What the configuration file sets of it, and so cannot be changed here: strategy, fallbacks.general, …, weight/{id}, order/{id}. */
    fileFields: z.array(z.string()),
  })
  .meta({ id: "RoutingGroup" });

export const routingAnswer = z.object({
  edge: z.int(),
  settings: z.object({
    strategy: z.string(),
    numRetries: z.int(),
    timeoutMs: z.number(),
    cooldowns: z.boolean(),
    cooldownMs: z.number(),
    maxFallbacks: z.int(),
    defaultFallbacks: z.array(z.string()),
  }),
  data: z.array(modelGroupRecord),
  /** The configuration file. */
  file: z.string().nullable(),
  strategies: z.array(z.string()),
  aliases: z.array(z.object({ name: z.string(), model: z.string(), hidden: z.boolean() })),
});
export type RoutingAnswer = z.infer<typeof routingAnswer>;

export const guardrailsAnswer = z.object({
  edge: z.int(),
  /** In the order in which requests are checked. */
  data: z.array(guardrailRecord.extend({ blocked: z.int(), masked: z.int() })),
  /** The kinds that exist, with their settings. */
  kinds: z.array(guardrailKindRecord),
  /** Newest first, since the start of this edge. */
  decisions: z.array(
    z.object({ at: timestamp, guardrail: z.string(), stage: z.enum(["pre", "post"]), action: z.string(), callId: z.string() }),
  ),
});
export type GuardrailsAnswer = z.infer<typeof guardrailsAnswer>;

export const cacheAnswer = z.object({
  edge: z.int(),
  /** Null if there is no response cache. */
  settings: z
    .object({ type: z.enum(["memory", "redis"]), ttlSeconds: z.number(), operations: z.array(z.string()), byDefault: z.boolean() })
    .nullable(),
  hits: z.int(),
  misses: z.int(),
  failures: z.int(),
  /** Null if the cache is not in this process. */
  held: z.object({ entries: z.int(), bytes: z.int(), bytesMax: z.int() }).nullable(),
  /** Null if there is no semantic cache. `forAll`: it applies unless an organization disabled it. `problem`: why the embedding model cannot be used. */
  semantic: z
    .object({
      forAll: z.boolean(),
      threshold: z.number(),
      embeddingModel: z.string(),
      problem: z.string().nullable(),
      hits: z.int(),
      misses: z.int(),
      failures: z.int(),
      vectors: z.int(),
      bytes: z.int(),
    })
    .nullable(),
  /** What is configured, and where. */
  configured: configuredCacheRecord,
});
export type CacheAnswer = z.infer<typeof cacheAnswer>;

export const clearCacheBody = z.object({});
export const clearCacheAnswer = z.object({ cleared: z.literal(true) });
