// What the control plane keeps. Times are milliseconds since 1970, money is bigint nano-USD, an absent field is absent
// (never null): both stores keep exactly what is written here.

export type Role = "owner" | "admin" | "member";

export interface User {
  id: number;
  email: string;
  name: string;
  role: "user" | "admin";
  /** Of sign-up; the session says which one is active. */
  organizationId: string;
  /** PHC string of argon2id. */
  passwordHash: string;
  createdAt: number;
  lastLoginAt?: number;
}

export interface Session {
  id: string;
  userId: number;
  organizationId: string;
  createdAt: number;
  expiresAt: number;
  revokedAt?: number;
}

export interface Organization {
  id: string;
  name: string;
  ownerId: number;
  timezone: string;
  lowBalanceThreshold?: bigint;
  createdAt: number;
  updatedAt: number;
}

export interface OrganizationMember {
  /** organizationId/userId */
  id: string;
  organizationId: string;
  userId: number;
  role: Role;
  joinedAt: number;
}

export interface Team {
  id: string;
  name: string;
  /** For the uniqueness of names whatever their case. */
  nameKey: string;
  organizationId: string;
  /** Quota blocks come and go with the balance; an admin's block only an admin lifts. */
  blockedByQuotaAt?: number;
  blockedByAdminAt?: number;
  blockReason?: string;
  models?: readonly string[];
  rpm?: number;
  tpm?: number;
  createdAt: number;
  updatedAt: number;
}

export interface TeamMember {
  /** teamId/userId */
  id: string;
  teamId: string;
  userId: number;
  role: Role;
  invitedAt: number;
  joinedAt: number;
}

export interface Invitation {
  id: string;
  teamId: string;
  organizationId: string;
  email: string;
  role: Role;
  invitedBy: number;
  invitedAt: number;
  expiresAt: number;
}

export interface ApiKey {
  id: string;
  /** HMAC of the secret's SHA-256; what is looked up, and all that is kept of the secret. */
  hash: string;
  /** The hash before a rotation and until when it still works. */
  previousHash?: string;
  previousHashUntil?: number;
  name: string;
  maskedKey: string;
  teamId: string;
  organizationId: string;
  models?: readonly string[];
  rpm?: number;
  tpm?: number;
  maxParallelRequests?: number;
  maxBudget?: bigint;
  expiresAt?: number;
  createdBy: number;
  createdAt: number;
}

/** What usage changes about a key, apart from the key itself so that a settlement never rewrites a key. */
export interface KeyUse {
  /** The key's id. */
  id: string;
  spend: bigint;
  lastUsedAt: number;
}

export interface Provider {
  id: string;
  name: string;
  nameKey: string;
  kind: string;
  baseUrl?: string;
  /** Sealed; opened only for edges. */
  sealedCredential?: string;
  createdAt: number;
  updatedAt: number;
}

export interface Model {
  id: string;
  name: string;
  providerId: string;
  inferenceModelId: string;
  type: string;
  description: string;
  contextWindow?: number;
  maxOutputTokens?: number;
  status: "active" | "disabled";
  createdAt: number;
  updatedAt: number;
}

export interface Price {
  /** modelId/version */
  id: string;
  modelId: string;
  version: number;
  effectiveAt: number;
  unit: "token";
  /** Nano-USD per 1,000,000 units. */
  input: bigint;
  output: bigint;
  cachedInput?: bigint;
  cacheWrite?: bigint;
  createdAt: number;
}

/** One side of the double-entry ledger. The sum over all accounts is zero at every committed point. */
export interface Account {
  /** org:<organization id>, or one of revenue, purchases, grants, rewards, adjustments. */
  id: string;
  balance: bigint;
  seq: number;
  updatedAt: number;
  /** For organisations: what came in and went out, by kind. */
  purchased: bigint;
  granted: bigint;
  rewarded: bigint;
  used: bigint;
}

export type EntryType = "purchase" | "grant" | "usage" | "reward" | "adjustment" | "refund";

export interface LedgerEntry {
  /** The sequence number: 1, 2, 3, ... over the whole ledger. */
  id: number;
  /** What makes it happen once: the call id, the purchase id, the grant's id. */
  reference: string;
  type: EntryType;
  organizationId: string;
  from: string;
  to: string;
  /** Always above zero; the direction is from → to. */
  amount: bigint;
  /** Of the organisation, after this entry. */
  balanceAfter: bigint;
  note?: string;
  createdAt: number;
  /** SHA-256 over the previous entry's hash and this entry. */
  hash: string;
}

export interface LedgerHead {
  id: "head";
  seq: number;
  hash: string;
}

export interface Purchase {
  id: string;
  organizationId: string;
  amount: bigint;
  method: "card" | "manual" | "test";
  status: "pending" | "completed" | "failed" | "refunded";
  reference?: string;
  createdBy: number;
  createdAt: number;
  completedAt?: number;
}

export interface Usage {
  input: number;
  cachedInput: number;
  cacheWrite: number;
  output: number;
  reasoning: number;
  audio: number;
  total: number;
  source: "provider" | "estimated";
}

export interface UsageRow {
  /** The call id. */
  id: string;
  createdAt: number;
  completedAt: number;
  organizationId: string;
  teamId: string;
  teamName: string;
  apiKeyId: string;
  apiKeyName: string;
  maskedKey: string;
  userId?: number;
  endUser?: string;
  endpoint: string;
  model: string;
  deploymentId: string;
  provider: string;
  type: string;
  stream: boolean;
  status: "success" | "error" | "cancelled";
  httpStatus: number;
  errorCode?: string;
  usage: Usage;
  cost: bigint;
  priceVersion: number;
  cacheHit: boolean;
  attempts: number;
  fallbackFrom?: string;
  latencyMs: number;
  firstTokenMs?: number;
  overheadUs: number;
  tags: readonly string[];
  ledgerSeq?: number;
  /** Of everything above but ledgerSeq: a repeat with other content is an alarm, not a repeat. */
  contentHash: string;
}

/** Sums of a quarter of an hour: the largest bucket that every time zone's hours and days are made of. */
export interface Rollup {
  id: string;
  organizationId: string;
  bucketAt: number;
  teamId: string;
  apiKeyId: string;
  userId: number;
  model: string;
  provider: string;
  status: string;
  requests: number;
  errors: number;
  input: number;
  cachedInput: number;
  output: number;
  total: number;
  cost: bigint;
}

export interface AuditEntry {
  /** The sequence number. */
  id: number;
  at: number;
  actorId?: number;
  actorKind: "user" | "anonymous" | "system";
  action: string;
  target: string;
  organizationId?: string;
  requestId: string;
  details: string;
}

export interface FeedRow {
  /** The revision. */
  id: number;
  at: number;
  kind: ChangeKind;
  subject: string;
}

export type ChangeKind = "key" | "team" | "organization" | "user" | "catalog";

export interface Counter {
  id: string;
  value: number;
}

export interface Setting {
  id: string;
  value: string;
}

/** A write's answer, kept sealed for 24 h under its Idempotency-Key. */
export interface IdempotencyRecord {
  id: string;
  requestHash: string;
  sealedAnswer?: string;
  /** Of a priced call that is still running: who holds the key. */
  holder?: string;
  expiresAt: number;
}

export interface PasswordReset {
  /** Keyed hash of the token that was mailed. */
  id: string;
  userId: number;
  expiresAt: number;
}
