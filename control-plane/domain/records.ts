// What the control plane keeps. Times are milliseconds since 1970, money is bigint nano-USD, an absent field is absent
// (never null): both stores keep exactly what is written here.

import type { Price, PriceUnit } from "../../common/pricing.ts";
import type { Budget } from "./budget-records.ts";

/** What one subject may do at most, all its calls together; absent = no limit. */
export interface RateLimits {
  /** Requests per minute. */
  rpm?: number;
  /** Tokens per minute. */
  tpm?: number;
  maxParallelRequests?: number;
}

export type Role = "owner" | "admin" | "member";

export interface User extends RateLimits, Budget {
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

export interface Organization extends RateLimits, Budget {
  id: string;
  name: string;
  ownerId: number;
  timezone: string;
  lowBalanceThreshold?: bigint;
  /** By an admin, for a reason that no purchase lifts; all its teams are blocked with it. */
  blockedAt?: number;
  blockReason?: string;
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

export interface Team extends RateLimits, Budget {
  id: string;
  name: string;
  /** For the uniqueness of names whatever their case. */
  nameKey: string;
  organizationId: string;
  /** Quota blocks come and go with the balance; an admin's block only an admin lifts. */
  blockedByQuotaAt?: number;
  blockedByAdminAt?: number;
  blockReason?: string;
  /** The organisation is blocked by an admin. Kept apart: when that is lifted, what was blocked by itself stays so. */
  blockedWithOrganizationAt?: number;
  models?: readonly string[];
  /** Names of guardrails that hold for every call of the team. */
  guardrails?: readonly string[];
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

/** A place in a team for an address, until the person who reads its mail accepts. */
export interface Invitation {
  id: string;
  /** Of the link's token. One that lacks it, as invitations once did, can only be made again. */
  tokenHash?: string;
  teamId: string;
  organizationId: string;
  email: string;
  role: Role;
  invitedBy: number;
  invitedAt: number;
  expiresAt: number;
}

export interface ApiKey extends RateLimits, Budget {
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
  guardrails?: readonly string[];
  expiresAt?: number;
  /** Its maker left the team, who knows the secret. A rotation makes the key work again. */
  disabledAt?: number;
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

export interface Model extends RateLimits, Budget {
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

/** A version of a model's price. */
export interface PriceVersion extends Price {
  /** modelId/version */
  id: string;
  modelId: string;
  version: number;
  effectiveAt: number;
  unit: PriceUnit;
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
  /** Its owner is told when the balance falls below this; absent: nobody asked, or he was told already. */
  lowAt?: bigint;
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
  /** Of the payment provider: the checkout. */
  reference?: string;
  /** Where it can be paid, by card. */
  checkoutUrl?: string;
  /** Once it is paid by card. */
  paymentId?: string;
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
  /** Of `audio`, what came out; absent where nobody can tell. */
  audioOutput?: number;
  /** The same call in other units than tokens, where it was counted in them. */
  amounts?: UnitAmounts;
}

export type UnitAmounts = Partial<Record<Exclude<PriceUnit, "token">, { input: number; output: number }>>;

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
  /** The piece of background work it was made for; of all calls for it one is paid. */
  onceFor?: string;
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
  /** How long its calls took, together and by class (`latency.ts`); a roll-up from before these were kept has neither, ever. */
  latencyMsSum?: number;
  latencyCounts?: number[];
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

export type ChangeKind = "key" | "team" | "organization" | "user" | "catalog" | "cache";

/** A slice of an organisation's credit that an edge may spend by itself. The sums only grow, so that a message may come twice. */
export interface Lease {
  /** `edge/organisation`. */
  id: string;
  edgeId: string;
  organizationId: string;
  /** A new one when the old lease ran out: sums of another generation mean nothing. */
  generation: number;
  granted: bigint;
  /** Settled calls that were made under it. */
  settled: bigint;
  /** Given back unspent. */
  released: bigint;
  expiresAt: number;
}

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

/** What a team keeps with the gateway: an assistant, a message, a run, a file. Its meaning is the edges' business. */
export interface TeamRecord {
  id: string;
  kind: string;
  teamId: string;
  organizationId: string;
  /** The API key under which work on it is done and paid. */
  keyId: string;
  parentId?: string;
  /** Team, kind and parent in one: the list it stands in, in the order of `sequence`. */
  scope: string;
  /** JSON. */
  body: string;
  /** Grows with every commit that writes it. */
  revision: number;
  sequence: number;
  createdAt: number;
  /** Work is wanted from this time on; while somebody holds it, when his lease runs out. */
  dueAt?: number;
  claim?: string;
  expiresAt?: number;
}

/** Bytes kept for a record, in a blob of the same name. */
export interface RecordContent {
  /** `team/record`. */
  id: string;
  bytes: number;
  /** There is no record for it, since then: removed when that lasts. */
  unownedAt?: number;
}

/** A piece of background work that was paid: doing it again, after a crash, costs nothing. */
export interface PaidWork {
  id: string;
  callId: string;
  expiresAt: number;
}
