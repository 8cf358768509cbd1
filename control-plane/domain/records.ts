// The records of the control plane. Times are milliseconds since 1970, money is bigint nano-USD, and an absent field is absent, never
// null. Both stores store exactly these fields.

import type { AmountName, Price, PriceUnit } from "../../common/pricing.ts";
import type { UsageStatus } from "../../common/usage-status.ts";
import type { Budget } from "./budget-records.ts";
import type { ContentSetting } from "./call-contents.ts";
import type { SemanticCacheSetting } from "./semantic-cache.ts";

/** Rate limits of one subject over all its calls; an absent field is no limit. */
export interface RateLimits {
  /** Requests per minute. */
  rpm?: number;
  /** Tokens per minute. */
  tpm?: number;
  /** Calls that may run at the same time. */
  maxParallelRequests?: number;
}

/** A role in an organization or in a team. */
export type Role = "owner" | "admin" | "member";

/** A person with an account. */
export interface User extends RateLimits, Budget {
  id: number;
  email: string;
  name: string;
  /** `admin`: administrator of the platform. */
  role: "user" | "admin";
  /** The organization created at sign-up; the session has the active one. */
  organizationId: string;
  /** Argon2id, as a PHC string. */
  passwordHash: string;
  /** When the user proved that they read mail to the address, as the signed-in user of this account. Absent: not proved. */
  emailVerifiedAt?: number;
  /** The sign-up grant, which the organization gets when the address is verified. */
  pendingGrant?: bigint;
  createdAt: number;
  lastLoginAt?: number;
  /** Set by a platform admin: no log-in, and the user's keys are refused. */
  disabledAt?: number;
}

/** A log-in of a user; session tokens name it. */
export interface Session extends SessionClient {
  id: string;
  userId: number;
  organizationId: string;
  createdAt: number;
  expiresAt: number;
  revokedAt?: number;
  /** The generation of its valid token: each refresh begins the next one. Absent: 0. */
  generation?: number;
  refreshedAt?: number;
}

/** The client of a session at its log-in or its last refresh, as the edge knows it. */
export interface SessionClient {
  address?: string;
  userAgent?: string;
}

/** A tenant: it owns teams, credits and the ledger account. */
export interface Organization extends RateLimits, Budget, ContentSetting, SemanticCacheSetting {
  id: string;
  name: string;
  ownerId: number;
  timezone: string;
  /** Owners and admins are notified when the balance falls below it. */
  lowBalanceThreshold?: bigint;
  /** Set by a platform admin; blocks all its teams, and no purchase lifts it. */
  blockedAt?: number;
  blockReason?: string;
  createdAt: number;
  updatedAt: number;
}

/** A user's role in an organization. */
export interface OrganizationMember {
  /** organizationId/userId */
  id: string;
  organizationId: string;
  userId: number;
  role: Role;
  joinedAt: number;
}

/** A group of members of an organization; API keys belong to teams. */
export interface Team extends RateLimits, Budget {
  id: string;
  name: string;
  /** The name in lower case, for case-insensitive uniqueness. */
  nameKey: string;
  organizationId: string;
  /** A quota block follows the balance; an admin's block is lifted only by an admin. */
  blockedByQuotaAt?: number;
  blockedByAdminAt?: number;
  blockReason?: string;
  /** The organization is blocked by an admin. A separate field, so that lifting that block leaves the team's own block. */
  blockedWithOrganizationAt?: number;
  /** Models that the team may call; absent: all. */
  models?: readonly string[];
  /** Names of guardrails that apply to every call of the team. */
  guardrails?: readonly string[];
  createdAt: number;
  updatedAt: number;
}

/** A user's role in a team. */
export interface TeamMember {
  /** teamId/userId */
  id: string;
  teamId: string;
  userId: number;
  role: Role;
  invitedAt: number;
  joinedAt: number;
}

/** A pending membership of a team for an e-mail address. */
export interface Invitation {
  id: string;
  /** Hash of the token in the link. Invitations of old releases lack it and have to be sent again. */
  tokenHash?: string;
  /** Hash of the longer token in the mail, which the inviter does not know: it proves that the invited user reads mail to the address. */
  mailedTokenHash?: string;
  teamId: string;
  organizationId: string;
  email: string;
  role: Role;
  invitedBy: number;
  invitedAt: number;
  expiresAt: number;
}

/** A credential for inference calls of one team. */
export interface ApiKey extends RateLimits, Budget, ContentSetting {
  id: string;
  /** HMAC of the secret's SHA-256, used for look-up. The secret itself is not stored. */
  hash: string;
  /** The hash before a rotation, and until when it is accepted. */
  previousHash?: string;
  previousHashUntil?: number;
  name: string;
  maskedKey: string;
  teamId: string;
  organizationId: string;
  models?: readonly string[];
  guardrails?: readonly string[];
  scopes?: readonly string[];
  expiresAt?: number;
  /** Set when its creator, or who rotated it last, leaves the team: both may know the secret. A rotation enables the key again. */
  disabledAt?: number;
  /** One of these two is disabled. A separate field, so that enabling the user leaves a key disabled that was so before. A rotation removes it too. */
  disabledWithUserAt?: number;
  createdBy: number;
  rotatedBy?: number;
  createdAt: number;
}

/** Usage of a key, apart from the key itself so that a settlement never rewrites a key. */
export interface KeyUse {
  /** The key's id. */
  id: string;
  /** Of the key; of the last call, if it is the master key. Absent in records of older releases, until a call is added. */
  organizationId?: string;
  spend: bigint;
  /** Absent until the first call: an imported key comes with what it spent elsewhere. */
  lastUsedAt?: number;
}

/** An upstream account of the catalog: provider kind, address and credential. */
export interface Provider {
  id: string;
  name: string;
  nameKey: string;
  kind: string;
  baseUrl?: string;
  /** Encrypted; decrypted only for edges. */
  sealedCredential?: string;
  /** The same for the PEM texts of TLS, as JSON. */
  sealedTls?: string;
  createdAt: number;
  updatedAt: number;
}

/** A model of the catalog, served by one provider. */
export interface Model extends RateLimits, Budget {
  id: string;
  name: string;
  providerId: string;
  /** The provider's name of the model. */
  inferenceModelId: string;
  type: string;
  description: string;
  contextWindow?: number;
  maxOutputTokens?: number;
  status: "active" | "disabled";
  createdAt: number;
  updatedAt: number;
}

/** A price version of a model. Versions are never changed: usage rows name them. */
export interface PriceVersion extends Price {
  /** modelId/version */
  id: string;
  modelId: string;
  version: number;
  effectiveAt: number;
  unit: PriceUnit;
  createdAt: number;
}

/** An account of the double-entry ledger. The sum over all accounts is zero after every commit. */
export interface Account {
  /** org:<organization id>, training:<federation id>, or one of revenue, purchases, grants, adjustments, transit, with `/<slot>` if there are several. */
  id: string;
  balance: bigint;
  /** The last entry that changed it. */
  seq: number;
  updatedAt: number;
  /** For organizations: totals of credits that came in and went out, by type. */
  purchased: bigint;
  granted: bigint;
  rewarded: bigint;
  used: bigint;
  /** A notification is due when the balance falls below this; absent: no threshold, or the notification was sent. */
  lowAt?: bigint;
}

/** Why an amount moved. */
export type EntryType = "purchase" | "grant" | "usage" | "reward" | "adjustment" | "refund";

/** An amount moved between two accounts. Entries are never changed. */
export interface LedgerEntry {
  /** The sequence number: unique in the whole ledger, rising within a slot (domain/ledger.ts); 1, 2, 3, ... in a store of one slot. */
  id: number;
  /** Unique, so that it is posted once: a call id, purchase id or grant id. */
  reference: string;
  type: EntryType;
  organizationId: string;
  from: string;
  to: string;
  /** Always above zero; it moves from `from` to `to`. */
  amount: bigint;
  /** Balance of the organization after this entry. */
  balanceAfter: bigint;
  note?: string;
  createdAt: number;
  /** SHA-256 over the previous entry's hash and this entry. */
  hash: string;
}

/** Sequence number and hash of the newest entry of a chain. */
export interface LedgerHead {
  /** The slot's number as text. */
  id: string;
  seq: number;
  hash: string;
}

/** Credits bought by an organization. */
export interface Purchase {
  id: string;
  organizationId: string;
  amount: bigint;
  method: "card" | "manual" | "test";
  status: "pending" | "completed" | "failed" | "refunded";
  /** The payment provider's id of the checkout. */
  reference?: string;
  /** The page where it can be paid, by card. */
  checkoutUrl?: string;
  /** Set once it is paid by card. */
  paymentId?: string;
  createdBy: number;
  createdAt: number;
  completedAt?: number;
}

/** Tokens of a call in disjoint classes; `total` is their sum. */
export interface Usage {
  input: number;
  cachedInput: number;
  cacheWrite: number;
  output: number;
  reasoning: number;
  audio: number;
  total: number;
  /** `estimated`: counted by the edge, because the provider reported no usable figures. */
  source: "provider" | "estimated";
  /** Tokens among `cacheWrite` that are stored for an hour; absent: none. */
  cacheWriteHour?: number;
  /** Output tokens among `audio`; absent where the split is not known. */
  audioOutput?: number;
  /** The same call in other units than tokens, where it was counted in those. */
  amounts?: UnitAmounts;
  /** Quality and size of the images that the call made, such as `hd/1024x1792`. */
  image?: string;
}

/** Amounts of a call by unit. */
export type UnitAmounts = Partial<Record<AmountName, { input: number; output: number }>>;

/** The log record of one settled call. */
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
  status: UsageStatus;
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
  /** The background work that the call belongs to. Together, the calls of a work item are charged what the dearest of them cost. */
  onceFor?: string;
  /** The provider's own name of the model that answered. */
  providerModel?: string;
  /** Every attempt, if one failed. */
  attemptsDetail?: readonly { deploymentId: string; provider: string; status?: number; errorText?: string; latencyMs: number }[];
  /** Nano-USD that were reserved before the provider was asked. */
  reserved?: number;
  /** Why a call was refused, as its caller sees it. */
  reason?: string;
  /** Refusals that this row stands for; absent: one, if it was refused. */
  refused?: number;
  /** The ledger entry that charges it; absent for calls without cost. */
  ledgerSeq?: number;
  /** What the edge reported, if less was charged because another call of the same work was charged before. */
  reportedCost?: bigint;
  /** Hash of the fields above as they were reported, without ledgerSeq and reportedCost. A second report with another hash is refused and audited. */
  contentHash: string;
}

/** The fields of a row in the order that its hash covers and stores write. New fields go to the end; the order must never change. */
// biome-ignore format: one name after the other
export const USAGE_ROW_FIELDS = [
  "id", "createdAt", "completedAt", "organizationId", "teamId", "teamName", "apiKeyId", "apiKeyName", "maskedKey", "userId", "endUser",
  "endpoint", "model", "deploymentId", "provider", "type", "stream", "status", "httpStatus", "errorCode", "usage", "priceVersion",
  "cacheHit", "attempts", "fallbackFrom", "latencyMs", "firstTokenMs", "overheadUs", "tags", "onceFor", "cost", "contentHash",
  "ledgerSeq", "providerModel", "attemptsDetail", "reserved", "reason", "refused", "reportedCost",
] as const satisfies readonly (keyof UsageRow)[];

/** Sums of usage rows of a quarter of an hour, the largest bucket that divides the hours and days of every time zone. */
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
  /** Refused calls, those without a row of their own included. `requests` counts rows. */
  refused?: number;
  /** Sum and histogram (`latency.ts`) of latencies. A roll-up created before these fields existed never gets them. */
  latencyMsSum?: number;
  latencyCounts?: number[];
}

/** One line of the audit log. */
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
  /** JSON. */
  details: string;
  /** Covers the entry and the hash of the one before it. Absent in entries from before the log was chained. */
  hash?: string;
}

/** One change that edges are notified of. */
export interface FeedRow {
  /** The revision. */
  id: number;
  at: number;
  kind: ChangeKind;
  subject: string;
}

/** What a feed row is about; its `subject` is the id. */
export type ChangeKind = "key" | "team" | "organization" | "user" | "catalog" | "cache";

/** A slice of an organization's credit that an edge may spend by itself. Sums only grow, so a repeated message changes nothing. */
export interface Lease {
  /** `edge/organization`. */
  id: string;
  edgeId: string;
  organizationId: string;
  /** Changes when a lease expired and a new one was granted. Sums of another generation are ignored. */
  generation: number;
  granted: bigint;
  /** Cost of settled calls that were made under it. */
  settled: bigint;
  /** Returned unspent. */
  released: bigint;
  expiresAt: number;
}

/** The last number of a series. */
export interface Counter {
  id: string;
  value: number;
  /** The hash of the last entry, if the series is a chain. */
  hash?: string;
}

/** A value that the control plane stores about itself, such as the schema version. */
export interface Setting {
  id: string;
  value: string;
}

/** The encrypted answer of a write, stored for 24 h under its Idempotency-Key. */
export interface IdempotencyRecord {
  id: string;
  requestHash: string;
  sealedAnswer?: string;
  /** For a priced call that is still running: its call id. */
  holder?: string;
  expiresAt: number;
}

/** An object that a team stores in the gateway: an assistant, a message, a run, a file. Only edges interpret its body. */
export interface TeamRecord {
  id: string;
  kind: string;
  teamId: string;
  organizationId: string;
  /** The API key that pays for work on it. */
  keyId: string;
  parentId?: string;
  /** Team, kind and parent joined: the list that contains it, ordered by `sequence`. */
  scope: string;
  /** JSON. */
  body: string;
  /** Incremented by every commit that writes it. */
  revision: number;
  sequence: number;
  createdAt: number;
  /** When work on it is due; while claimed, when the claim expires. */
  dueAt?: number;
  claim?: string;
  expiresAt?: number;
  /** The bytes by which it counts for its organization; absent: it does not count. */
  countedBytes?: number;
}
