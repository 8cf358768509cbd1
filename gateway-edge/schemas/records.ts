import { z } from "zod";
import { budgetRecord } from "./platform/budgets.ts";
import { rateLimitRecord } from "./platform/rate-limits.ts";
import { semanticCacheRecord } from "./platform/semantic-cache.ts";

// The records of the platform API: bigint and Date here, integers and ISO 8601 in JSON.

const timestamp = z.date();
const int64 = z.bigint();

type MoneyShape<Name extends string> = { [Field in Name]: z.ZodBigInt } & { [Field in `${Name}Usd`]: z.ZodString };

/** For each name an amount in nano-USD and, as `nameUsd`, the exact decimal string in USD. */
export function money<Name extends string>(...names: Name[]): MoneyShape<Name> {
  return Object.fromEntries(names.flatMap((name) => [[name, int64] as const, [`${name}Usd`, z.string()] as const])) as MoneyShape<Name>;
}

export const pageMeta = z.object({ page: z.int(), pageSize: z.int(), total: z.int(), totalPages: z.int() }).meta({ id: "PageMeta" });

export const listOf = <Item extends z.ZodType>(item: Item) => z.object({ data: z.array(item), meta: pageMeta });

export const userRecord = z
  .object({
    id: int64,
    email: z.string(),
    name: z.string(),
    role: z.string(),
    organizationId: z.string(),
    ...rateLimitRecord,
    ...budgetRecord,
    emailVerified: z.boolean(),
    /** Whether log-ins need a second factor. */
    totpEnabled: z.boolean(),
    status: z.enum(["active", "disabled"]),
    disabledAt: timestamp.nullable(),
    createdAt: timestamp,
    lastLoginAt: timestamp.nullable(),
  })
  .meta({ id: "User" });

export const organizationRecord = z
  .object({
    id: z.string(),
    name: z.string(),
    ownerId: int64,
    role: z.string(),
    isActive: z.boolean(),
    ...money("balance"),
    status: z.string(),
    /** Why it is blocked: quota or admin. An admin's block also has its time and note. */
    blockedReason: z.string().nullable(),
    blockedAt: timestamp.nullable(),
    blockNote: z.string().nullable(),
    timezone: z.string(),
    memberCount: z.int(),
    teamCount: z.int(),
    lowBalanceThreshold: int64.nullable(),
    logContent: z.boolean(),
    logContentDays: z.int(),
    semanticCache: semanticCacheRecord,
    ...rateLimitRecord,
    ...budgetRecord,
    createdAt: timestamp,
    updatedAt: timestamp,
  })
  .meta({ id: "Organization" });

export const teamRecord = z
  .object({
    id: z.string(),
    name: z.string(),
    organizationId: z.string(),
    status: z.string(),
    blockedReason: z.string().nullable(),
    blockedAt: timestamp.nullable(),
    memberCount: z.int(),
    keyCount: z.int(),
    models: z.array(z.string()).nullable(),
    guardrails: z.array(z.string()).nullable(),
    ...rateLimitRecord,
    ...budgetRecord,
    ...money("spend"),
    createdAt: timestamp,
    updatedAt: timestamp,
  })
  .meta({ id: "Team" });

export const teamMemberRecord = z
  .object({
    memberId: z.union([int64, z.string()]),
    userId: int64.nullable(),
    email: z.string(),
    name: z.string().nullable(),
    role: z.string(),
    status: z.string(),
    invitedAt: timestamp,
    joinedAt: timestamp.nullable(),
  })
  .meta({ id: "TeamMember" });

export const invitationRecord = z
  .object({
    id: z.string(),
    email: z.string(),
    role: z.string(),
    teamId: z.string(),
    teamName: z.string(),
    organizationId: z.string(),
    organizationName: z.string(),
    invitedAt: timestamp,
    expiresAt: timestamp,
  })
  .meta({ id: "Invitation" });

export const apiKeyRecord = z
  .object({
    id: z.string(),
    token: z.string(),
    name: z.string(),
    maskedKey: z.string(),
    team_id: z.string(),
    teamId: z.string(),
    teamName: z.string(),
    organizationId: z.string(),
    status: z.string(),
    models: z.array(z.string()).nullable(),
    guardrails: z.array(z.string()).nullable(),
    /** Null: everything. */
    scopes: z.array(z.string()).nullable(),
    ...rateLimitRecord,
    ...budgetRecord,
    ...money("spend"),
    createdBy: int64,
    createdAt: timestamp,
    lastUsedAt: timestamp.nullable(),
    expiresAt: timestamp.nullable(),
    /** Null: as the organization. */
    logContent: z.boolean().nullable(),
    logContentDays: z.int().nullable(),
  })
  .meta({ id: "ApiKey" });

export const teamDetailRecord = teamRecord
  .extend({ members: z.array(teamMemberRecord), apiKeys: z.array(apiKeyRecord) })
  .meta({ id: "TeamDetail" });

/** Nano-USD per million units. */
const priceFields = {
  unit: z.string(),
  ...money("input", "output"),
  cachedInput: int64.nullable(),
  cacheWrite: int64.nullable(),
  cacheWriteHour: int64.nullable(),
  audioInput: int64.nullable(),
  audioOutput: int64.nullable(),
  webSearch: int64.nullable(),
  /** What else the provider bills beside the tokens; only those with a price. */
  fees: z.record(z.string(), int64).optional(),
  /** Of generated images by size, or by quality and size; absent: all cost the same. */
  images: z.record(z.string(), int64).optional(),
  tiers: z.array(
    z.object({
      aboveInputTokens: z.int(),
      ...money("input", "output"),
      cachedInput: int64.nullable(),
      cacheWrite: int64.nullable(),
      cacheWriteHour: int64.nullable(),
    }),
  ),
};

export const modelRecord = z
  .object({
    id: z.string(),
    name: z.string(),
    provider: z.object({ id: z.string(), name: z.string() }),
    type: z.string(),
    description: z.string(),
    contextWindow: z.int().nullable(),
    maxOutputTokens: z.int().nullable(),
    pricing: z.object({ version: z.int(), effectiveAt: timestamp, ...priceFields }).nullable(),
    capabilities: z.array(z.string()),
    supportedParams: z.array(z.string()),
    status: z.string(),
    ...rateLimitRecord,
    trained: z
      .object({
        taskId: z.string(),
        task: z.string(),
        version: z.int(),
        round: z.int().nullable(),
        participants: z.int().nullable(),
        accuracy: z.number().nullable(),
        blob: z.string().nullable(),
        lineage: z.record(z.string(), z.unknown()),
      })
      .nullable(),
    createdAt: timestamp,
    updatedAt: timestamp,
  })
  .meta({ id: "Model" });

/** Where a model or provider is defined, and so where it can be changed: the catalog, the configuration file, or a publication. */
const source = z.enum(["catalog", "configuration", "training"]);

/** A model as platform admins see it. */
export const adminModelRecord = modelRecord.extend({ source, inferenceModelId: z.string(), ...budgetRecord }).meta({ id: "AdminModel" });

export const providerRecord = z
  .object({ id: z.string(), name: z.string(), kind: z.string(), status: z.string(), modelCount: z.int() })
  .meta({ id: "Provider" });

export const adminProviderRecord = providerRecord.extend({ source }).meta({ id: "AdminProvider" });

/** A kind of provider: what a provider of it needs, and its names in LiteLLM's configuration files. */
export const providerKindRecord = z
  .object({
    kind: z.string(),
    name: z.string(),
    prefixes: z.array(z.string()),
    /** By parameter: the environment variables that are read where a deployment does not set it. */
    environment: z.record(z.string(), z.array(z.string())),
    /** Null: given with each provider where `needsBaseUrl`, else made from its other parameters. */
    baseUrl: z.string().nullable(),
    needsBaseUrl: z.boolean(),
    operations: z.array(z.string()),
  })
  .meta({ id: "ProviderKind" });

/** A model of the public price lists, by its provider's own name. */
export const listedModelRecord = z
  .object({
    inferenceModelId: z.string(),
    type: z.string(),
    contextWindow: z.int().nullable(),
    maxOutputTokens: z.int().nullable(),
    /** Null: known to exist, but at no public price. */
    pricing: z.object(priceFields).nullable(),
    capabilities: z.array(z.string()),
  })
  .meta({ id: "ListedModel" });

export const quotaRecord = z
  .object({
    organizationId: z.string(),
    ...money("balance", "reserved", "available", "totalPurchased", "totalGranted", "totalRewarded", "totalUsed"),
    status: z.string(),
    blockedTeams: z.int(),
    lowBalanceThreshold: int64.nullable(),
    ...money("burnRatePerDay"),
    estimatedDaysLeft: z.number().nullable(),
    updatedAt: timestamp,
    ledgerSeq: int64,
    /** The payment methods of this server. */
    paymentMethods: z.array(z.string()),
  })
  .meta({ id: "Quota" });

export const usageLogRecord = z
  .object({
    id: z.string(),
    callId: z.string(),
    createdAt: timestamp,
    completedAt: timestamp,
    organizationId: z.string(),
    team_id: z.string(),
    teamId: z.string(),
    teamName: z.string(),
    apiKeyId: z.string(),
    apiKeyName: z.string(),
    maskedKey: z.string(),
    userId: int64.nullable(),
    endUser: z.string().nullable(),
    endpoint: z.string(),
    model: z.string(),
    deploymentId: z.string(),
    provider: z.string(),
    type: z.string(),
    stream: z.boolean(),
    status: z.string(),
    httpStatus: z.int(),
    errorCode: z.string().nullable(),
    usage: z.object({
      input: int64,
      cachedInput: int64,
      cacheWrite: int64,
      output: int64,
      reasoning: int64,
      audio: int64,
      total: int64,
      source: z.string(),
      /** Cache writes that last an hour, a part of `cacheWrite`; absent: none. */
      cacheWriteHour: int64.optional(),
      /** Amounts beside tokens of text, such as characters, images or searches; absent if only tokens were counted. */
      amounts: z.record(z.string(), z.object({ input: int64, output: int64 })).optional(),
      /** Quality and size of the images that the call made, such as `hd/1024x1792`. */
      image: z.string().optional(),
    }),
    ...money("cost"),
    priceVersion: z.int(),
    cacheHit: z.boolean(),
    attempts: z.int(),
    fallbackFrom: z.string().nullable(),
    latencyMs: z.int(),
    firstTokenMs: z.int().nullable(),
    overheadUs: z.int(),
    tags: z.array(z.string()),
    ledgerSeq: int64.nullable(),
    /** The provider's own name of the model that answered. */
    providerModel: z.string().nullable(),
    /** What each deployment answered, in order; the last one answered the call, unless the call failed. */
    attemptsDetail: z.array(
      z.object({
        deploymentId: z.string(),
        provider: z.string(),
        /** The provider's HTTP status; null if it did not answer, or failed after its status. */
        status: z.int().nullable(),
        errorText: z.string().nullable(),
        latencyMs: z.int(),
      }),
    ),
    /** Nano-USD that were reserved before the provider was asked. */
    reserved: int64.nullable(),
    /** Why a call was refused. */
    reason: z.string().nullable(),
    /** Refusals that this row stands for: above 60 in a minute, those of one key share the last row. */
    refused: int64,
  })
  .meta({ id: "UsageLog" });

export const totalsRecord = z
  .object({
    /** Calls that were made. */
    requests: int64,
    tokens: int64,
    ...money("cost"),
    /** Refused calls, those without a row of their own included. */
    refused: int64,
  })
  .meta({ id: "Totals" });

export const usageBucketRecord = z
  .object({
    bucket: z.string(),
    group: z.string().nullable(),
    requests: int64,
    errors: int64,
    input: int64,
    cachedInput: int64,
    output: int64,
    total: int64,
    ...money("cost"),
    /** Calls with a recorded latency; fewer than `requests` only if some rows are older than this field. */
    latencyCount: int64,
    latencyMsSum: int64,
    /** Estimated from a histogram whose buckets grow by half. */
    latencyMsP50: z.int().nullable(),
    latencyMsP95: z.int().nullable(),
  })
  .meta({ id: "UsageBucket" });

export const ledgerEntryRecord = z
  .object({
    seq: int64,
    type: z.string(),
    ...money("amount", "balanceAfter"),
    callId: z.string().nullable(),
    purchaseId: z.string().nullable(),
    reference: z.string().nullable(),
    createdAt: timestamp,
  })
  .meta({ id: "LedgerEntry" });

export const purchaseRecord = z
  .object({
    id: z.string(),
    organizationId: z.string(),
    ...money("amount"),
    method: z.string(),
    status: z.string(),
    checkoutUrl: z.string().nullable(),
    reference: z.string().nullable(),
    createdBy: int64,
    createdAt: timestamp,
    completedAt: timestamp.nullable(),
  })
  .meta({ id: "Purchase" });

export const auditEntryRecord = z
  .object({
    seq: int64,
    at: timestamp,
    actorId: int64.nullable(),
    actorEmail: z
      .string()
      .nullable()
      .describe("Address of the user who acted, as it is now; `null` for deleted users. The hash does not cover it."),
    actorKind: z.string(),
    action: z.string(),
    target: z.string(),
    organizationId: z.string().nullable(),
    requestId: z.string(),
    details: z.unknown(),
    hash: z.string().nullable(),
  })
  .meta({ id: "AuditEntry" });

export const sessionAnswer = z.object({ token: z.string(), expiresAt: timestamp }).meta({ id: "Session" });
export const openSessionRecord = z
  .object({
    id: z.string(),
    createdAt: timestamp,
    lastUsedAt: timestamp,
    expiresAt: timestamp,
    userAgent: z.string().nullable(),
    address: z.string().nullable(),
    current: z.boolean(),
  })
  .meta({ id: "OpenSession" });
export const balanceFields = money("balance");

export const errorRecord = z
  .object({
    error: z.string(),
    code: z.enum([
      "UNAUTHORIZED",
      "FORBIDDEN",
      "VALIDATION_ERROR",
      "NOT_FOUND",
      "QUOTA_EXCEEDED",
      "TEAM_BLOCKED",
      "SERVER_ERROR",
      "DB_TIMEOUT",
    ]),
    details: z.array(z.object({ path: z.string(), message: z.string() })).optional(),
    requestId: z.string(),
  })
  .meta({ id: "Error" });
