import { z } from "zod";
import { toUsdString } from "../../common/money.ts";

// The records of contract §5, written down from the contract and not from the code, so that the code can differ.

export const time = z.string().regex(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/);
const count = z.int().min(0);
const nano = z.int();
const orNull = <Schema extends z.ZodType>(schema: Schema) => schema.nullable();
const idOf = (prefix: string) => z.string().regex(new RegExp(`^${prefix}_[0-9A-Za-z]+$`));
const standing = z.enum(["owner", "admin", "member"]);

export const user = z.looseObject({
  id: z.int().min(1),
  email: z.string(),
  name: z.string(),
  role: z.enum(["user", "admin"]),
  organizationId: idOf("org"),
  emailVerified: z.boolean(),
  totpEnabled: z.boolean(),
  status: z.enum(["active", "disabled"]),
  disabledAt: time.nullable(),
  createdAt: time,
  lastLoginAt: orNull(time),
});
export const organization = z.looseObject({
  id: idOf("org"),
  name: z.string(),
  ownerId: z.int(),
  role: standing,
  isActive: z.boolean(),
  balance: nano,
  balanceUsd: z.string(),
  status: z.enum(["active", "blocked"]),
  blockedReason: orNull(z.enum(["quota", "admin"])),
  blockedAt: orNull(time),
  blockNote: orNull(z.string()),
  timezone: z.string(),
  memberCount: count,
  teamCount: count,
  createdAt: time,
  updatedAt: time,
});
export const team = z.looseObject({
  id: idOf("team"),
  name: z.string(),
  organizationId: idOf("org"),
  status: z.enum(["active", "blocked"]),
  blockedReason: orNull(z.enum(["quota", "admin"])),
  blockedAt: orNull(time),
  memberCount: count,
  keyCount: count,
  models: orNull(z.array(z.string())),
  guardrails: orNull(z.array(z.string())),
  rpm: orNull(count),
  tpm: orNull(count),
  spend: nano,
  spendUsd: z.string(),
  createdAt: time,
  updatedAt: time,
});
export const teamMember = z.looseObject({
  memberId: z.union([z.int(), z.string()]),
  userId: orNull(z.int()),
  email: z.string(),
  name: orNull(z.string()),
  role: standing,
  status: z.enum(["active", "invited"]),
  invitedAt: time,
  joinedAt: orNull(time),
});
export const invitation = z.strictObject({
  id: idOf("inv"),
  email: z.string(),
  role: standing,
  teamId: idOf("team"),
  teamName: z.string(),
  organizationId: idOf("org"),
  organizationName: z.string(),
  invitedAt: time,
  expiresAt: time,
});
export const apiKey = z.looseObject({
  id: idOf("key"),
  token: z.string().min(32),
  name: z.string(),
  maskedKey: z.string().regex(/^sk-\.\.\.[0-9A-Za-z]{4}$/),
  team_id: idOf("team"),
  teamId: idOf("team"),
  teamName: z.string(),
  organizationId: idOf("org"),
  status: z.enum(["active", "blocked", "expired"]),
  models: orNull(z.array(z.string())),
  guardrails: orNull(z.array(z.string())),
  rpm: orNull(count),
  tpm: orNull(count),
  maxParallelRequests: orNull(count),
  maxBudget: orNull(nano),
  spend: nano,
  spendUsd: z.string(),
  createdBy: z.int(),
  createdAt: time,
  lastUsedAt: orNull(time),
  expiresAt: orNull(time),
});
export const model = z.looseObject({
  id: z.string(),
  name: z.string(),
  provider: z.looseObject({ id: z.string(), name: z.string() }),
  type: z.enum(["chat", "completion", "embedding", "image", "audio_speech", "audio_transcription", "moderation", "rerank"]),
  description: z.string(),
  contextWindow: orNull(count),
  maxOutputTokens: orNull(count),
  pricing: z.looseObject({
    version: z.int().min(1),
    effectiveAt: time,
    unit: z.string(),
    input: nano,
    output: nano,
    cachedInput: orNull(nano),
    cacheWrite: orNull(nano),
  }),
  capabilities: z.array(z.string()),
  supportedParams: z.array(z.string()),
  status: z.string(),
  trained: z.null(),
  createdAt: time,
  updatedAt: time,
});
/** Never an address or a key: so nothing beside these. */
export const provider = z.strictObject({
  id: z.string(),
  name: z.string(),
  kind: z.string(),
  status: z.enum(["up", "degraded", "down", "unknown"]),
  modelCount: count,
});
export const adminProvider = provider.extend({ source: z.enum(["catalog", "configuration", "training"]) });
export const quota = z.looseObject({
  organizationId: idOf("org"),
  balance: nano,
  balanceUsd: z.string(),
  reserved: nano,
  available: nano,
  totalPurchased: nano,
  totalGranted: nano,
  totalRewarded: nano,
  totalUsed: nano,
  status: z.enum(["active", "blocked"]),
  blockedTeams: count,
  lowBalanceThreshold: orNull(nano),
  burnRatePerDay: nano,
  estimatedDaysLeft: orNull(z.number()),
  updatedAt: time,
  ledgerSeq: count,
});
export const usageLog = z.looseObject({
  id: z.string(),
  callId: idOf("call"),
  createdAt: time,
  completedAt: time,
  organizationId: idOf("org"),
  team_id: idOf("team"),
  teamId: idOf("team"),
  teamName: z.string(),
  apiKeyId: idOf("key"),
  apiKeyName: z.string(),
  maskedKey: z.string(),
  userId: orNull(z.int()),
  endUser: orNull(z.string()),
  endpoint: z.string(),
  model: z.string(),
  deploymentId: z.string(),
  provider: z.string(),
  type: z.string(),
  stream: z.boolean(),
  status: z.enum(["success", "error", "cancelled"]),
  httpStatus: z.int(),
  errorCode: orNull(z.string()),
  usage: z.looseObject({
    input: count,
    cachedInput: count,
    cacheWrite: count,
    output: count,
    reasoning: count,
    audio: count,
    total: count,
    source: z.enum(["provider", "estimated"]),
  }),
  cost: nano,
  costUsd: z.string(),
  priceVersion: z.int(),
  cacheHit: z.boolean(),
  attempts: z.int(),
  fallbackFrom: orNull(z.string()),
  latencyMs: count,
  firstTokenMs: orNull(count),
  overheadUs: count,
  tags: z.array(z.string()),
  ledgerSeq: orNull(count),
  providerModel: orNull(z.string()),
  attemptsDetail: z.array(
    z.object({
      deploymentId: z.string(),
      provider: z.string(),
      status: orNull(z.int()),
      errorText: orNull(z.string()),
      latencyMs: count,
    }),
  ),
  reserved: orNull(count),
  reason: orNull(z.string()),
  refused: count,
});
export const usageBucket = z.looseObject({
  bucket: z.string(),
  group: orNull(z.string()),
  requests: count,
  errors: count,
  input: count,
  cachedInput: count,
  output: count,
  total: count,
  cost: nano,
  costUsd: z.string(),
  latencyCount: count,
  latencyMsSum: count,
  latencyMsP50: orNull(count),
  latencyMsP95: orNull(count),
});
export const ledgerEntry = z.looseObject({
  seq: z.int().min(1),
  type: z.enum(["purchase", "grant", "usage", "reward", "adjustment", "refund"]),
  amount: nano,
  amountUsd: z.string(),
  balanceAfter: nano,
  callId: orNull(z.string()),
  purchaseId: orNull(z.string()),
  reference: orNull(z.string()),
  createdAt: time,
});
export const purchase = z.looseObject({
  id: idOf("pur"),
  organizationId: idOf("org"),
  amount: nano,
  amountUsd: z.string(),
  method: z.enum(["card", "manual", "test"]),
  status: z.enum(["pending", "completed", "failed", "refunded"]),
  checkoutUrl: orNull(z.string()),
  reference: orNull(z.string()),
  createdBy: z.int(),
  createdAt: time,
  completedAt: orNull(time),
});

const meta = z.looseObject({ page: z.int().min(1), pageSize: z.int().min(1).max(100), total: count, totalPages: count });
export const listOf = (item: z.ZodType) => z.looseObject({ data: z.array(item), meta });

export const platformError = z.strictObject({
  error: z.string().min(1),
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
  details: z.array(z.strictObject({ path: z.string(), message: z.string() })).optional(),
  requestId: z.string().min(1),
});
export const gatewayError = z.looseObject({
  error: z.strictObject({
    message: z.string().min(1),
    type: z.string(),
    param: z.string().nullable(),
    code: z.string().nullable(),
  }),
});

/** Fails with what does not fit; and every `...Usd` must be the exact decimal of its sibling. */
export function expectShape(schema: z.ZodType, value: unknown): void {
  const result = schema.safeParse(value);
  if (!result.success) throw new Error(`${z.prettifyError(result.error)}\nin ${JSON.stringify(value, null, 1).slice(0, 3000)}`);
  checkMoney(value);
}

function checkMoney(value: unknown): void {
  if (Array.isArray(value)) for (const inner of value) checkMoney(inner);
  if (typeof value !== "object" || value === null || Array.isArray(value)) return;
  for (const [name, inner] of Object.entries(value)) {
    const sibling = (value as Record<string, unknown>)[name.replace(/Usd$/, "")];
    if (name.endsWith("Usd") && typeof inner === "string" && typeof sibling === "number") expect(inner).toBe(toUsdString(BigInt(sibling)));
    checkMoney(inner);
  }
}
