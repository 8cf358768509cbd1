import type { AlertRecord } from "../domain/alerts.ts";
import type { AuditArchive } from "../domain/audit-archive.ts";
import type { BudgetUse } from "../domain/budget-records.ts";
import type { CallContentRecord } from "../domain/call-contents.ts";
import type { DataSet } from "../domain/data-sets.ts";
import type { GatewaySettingRecord } from "../domain/gateway-settings.ts";
import type { EmailVerification, FinishedSignIn, Identity, PasswordReset } from "../domain/identity-records.ts";
import type { Anchor, Checkpoint, OutboxRow } from "../domain/ledger-records.ts";
import type { McpServerRecord } from "../domain/mcp-servers.ts";
import type { OwnStrategyRecord } from "../domain/own-strategies.ts";
import type { PaidWork } from "../domain/paid-work.ts";
import type { Payment, PaymentEventRow } from "../domain/payment-records.ts";
import type * as records from "../domain/records.ts";
import type { SecondFactor } from "../domain/second-factor.ts";
import type { RecordContent, StorageUse } from "../domain/storage-records.ts";
import type { TrainedModel, TrainedVersion } from "../domain/trained-records.ts";
import type { Federation, FederationEvent, TrainerNode, TrainingRound } from "../domain/training-records.ts";
import type { UsageArchive } from "../domain/usage-archive.ts";
import type { Delivery, Notice, Webhook } from "../domain/webhook-records.ts";

/** The record type of each collection. */
export interface Records {
  users: records.User;
  sessions: records.Session;
  organizations: records.Organization;
  organizationMembers: records.OrganizationMember;
  teams: records.Team;
  teamMembers: records.TeamMember;
  invitations: records.Invitation;
  keys: records.ApiKey;
  keyUses: records.KeyUse;
  providers: records.Provider;
  models: records.Model;
  prices: records.PriceVersion;
  gatewaySettings: GatewaySettingRecord;
  accounts: records.Account;
  ledger: records.LedgerEntry;
  ledgerHead: records.LedgerHead;
  anchors: Anchor;
  checkpoints: Checkpoint;
  outbox: OutboxRow;
  purchases: records.Purchase;
  usage: records.UsageRow;
  usageArchives: UsageArchive;
  callContents: CallContentRecord;
  rollups: records.Rollup;
  audit: records.AuditEntry;
  auditArchives: AuditArchive;
  feed: records.FeedRow;
  leases: records.Lease;
  counters: records.Counter;
  settings: records.Setting;
  idempotency: records.IdempotencyRecord;
  passwordResets: PasswordReset;
  emailVerifications: EmailVerification;
  secondFactors: SecondFactor;
  identities: Identity;
  finishedSignIns: FinishedSignIn;
  records: records.TeamRecord;
  contents: RecordContent;
  storage: StorageUse;
  paidWork: PaidWork;
  payments: Payment;
  paymentEvents: PaymentEventRow;
  budgetUses: BudgetUse;
  webhooks: Webhook;
  alerts: AlertRecord;
  mcpServers: McpServerRecord;
  notices: Notice;
  deliveries: Delivery;
  trainedModels: TrainedModel;
  trainedVersions: TrainedVersion;
  federations: Federation;
  trainingRounds: TrainingRound;
  federationEvents: FederationEvent;
  trainerNodes: TrainerNode;
  dataSets: DataSet;
  ownStrategies: OwnStrategyRecord;
}

/** Name of a collection. */
export type CollectionName = keyof Records;

/** Fields of an index, and how it is stored. */
export interface IndexDefinition {
  /** Fields in order. A record that lacks one of them is not in the index. */
  readonly fields: readonly string[];
  /** At most one record per combination of values. */
  readonly unique?: boolean;
  /**
   * For collections that every call writes: the embedded store packs entries whose last field is in one span. That is so many integers, or texts with so
   * many equal first characters.
   */
  readonly span?: number;
}

// A span is always read whole, so it must stay cheap to read at ten thousand calls per second.
const ROW_SPAN_MS = 1000;
const ENTRY_SPAN = 1000;

/** "call_" and the time of a call's id without its last two digits: about a second, too. */
const CALL_SPAN = 12;

/**
 * Collections that every call writes: the embedded store packs rows whose ids are in one span, which is a count of numbers or of equal first
 * characters.
 */
export const PACKED_ROWS: { readonly [Name in CollectionName]?: number } = { usage: CALL_SPAN, ledger: ENTRY_SPAN };

type Definitions = { readonly [Name in CollectionName]: Readonly<Record<string, IndexDefinition>> };

/** Every index of every collection; the primary key is always `id`. Both stores are built from this table. */
export const INDEXES = {
  users: { byEmail: { fields: ["email"], unique: true } },
  sessions: { byUser: { fields: ["userId", "createdAt"] }, byExpiry: { fields: ["expiresAt"] } },
  organizations: {},
  organizationMembers: { byUser: { fields: ["userId", "joinedAt"] }, byOrganization: { fields: ["organizationId", "joinedAt"] } },
  teams: {
    byOrganization: { fields: ["organizationId", "createdAt"] },
    byName: { fields: ["organizationId", "nameKey"], unique: true },
  },
  teamMembers: { byTeam: { fields: ["teamId", "joinedAt"] }, byUser: { fields: ["userId", "joinedAt"] } },
  invitations: {
    byTeamAndEmail: { fields: ["teamId", "email"], unique: true },
    byEmail: { fields: ["email", "invitedAt"] },
    byExpiry: { fields: ["expiresAt"] },
  },
  keys: {
    byHash: { fields: ["hash"], unique: true },
    byPreviousHash: { fields: ["previousHash"], unique: true },
    byTeam: { fields: ["teamId", "createdAt"] },
    byOrganization: { fields: ["organizationId", "createdAt"] },
    byCreator: { fields: ["createdBy", "createdAt"] },
    byRotator: { fields: ["rotatedBy", "createdAt"] },
  },
  keyUses: {},
  providers: { byName: { fields: ["nameKey"], unique: true } },
  models: { byName: { fields: ["name"], unique: true }, byProvider: { fields: ["providerId", "createdAt"] } },
  prices: { byModel: { fields: ["modelId", "version"], unique: true }, byEffectiveAt: { fields: ["effectiveAt"] } },
  gatewaySettings: {},
  accounts: {},
  ledger: {
    byReference: { fields: ["reference"], unique: true, span: CALL_SPAN },
    byOrganization: { fields: ["organizationId", "id"], span: ENTRY_SPAN },
  },
  ledgerHead: {},
  anchors: {},
  checkpoints: {},
  outbox: {},
  purchases: { byOrganization: { fields: ["organizationId", "createdAt"] } },
  usage: {
    byOrganization: { fields: ["organizationId", "createdAt"], span: ROW_SPAN_MS },
    byTeam: { fields: ["teamId", "createdAt"], span: ROW_SPAN_MS },
    byKey: { fields: ["apiKeyId", "createdAt"], span: ROW_SPAN_MS },
  },
  usageArchives: {},
  callContents: { byExpiry: { fields: ["expiresAt"] } },
  rollups: { byOrganization: { fields: ["organizationId", "bucketAt"] } },
  audit: {},
  auditArchives: {},
  feed: {},
  leases: { byOrganization: { fields: ["organizationId"] }, byEdge: { fields: ["edgeId"] }, byExpiry: { fields: ["expiresAt"] } },
  counters: {},
  settings: {},
  idempotency: { byExpiry: { fields: ["expiresAt"] } },
  passwordResets: { byExpiry: { fields: ["expiresAt"] } },
  secondFactors: {},
  emailVerifications: { byExpiry: { fields: ["expiresAt"] } },
  identities: { byUser: { fields: ["userId", "createdAt"] } },
  finishedSignIns: { byExpiry: { fields: ["expiresAt"] } },
  records: {
    byScope: { fields: ["scope", "sequence"] },
    byParent: { fields: ["parentId", "sequence"] },
    byDue: { fields: ["kind", "dueAt"] },
    byTeam: { fields: ["teamId", "sequence"] },
    byExpiry: { fields: ["expiresAt"] },
  },
  contents: { byUnowned: { fields: ["unownedAt"] } },
  storage: {},
  paidWork: { byExpiry: { fields: ["expiresAt"] } },
  payments: { byExpiry: { fields: ["expiresAt"] } },
  paymentEvents: { byExpiry: { fields: ["expiresAt"] } },
  budgetUses: {},
  mcpServers: { byName: { fields: ["organizationId", "name"], unique: true } },
  webhooks: { byOrganization: { fields: ["organizationId", "createdAt"] } },
  alerts: { byOrganization: { fields: ["organizationId", "createdAt"] } },
  notices: {},
  deliveries: {
    byWebhook: { fields: ["webhookId", "createdAt"] },
    byDue: { fields: ["dueAt"] },
    byExpiry: { fields: ["expiresAt"] },
  },
  trainedModels: {
    byName: { fields: ["organizationId", "name"], unique: true },
    byOpenName: { fields: ["openName"], unique: true },
    byOrganization: { fields: ["organizationId", "createdAt"] },
  },
  trainedVersions: { byModel: { fields: ["modelId", "version"], unique: true } },
  federations: {
    byOrganization: { fields: ["organizationId", "createdAt"] },
    byDue: { fields: ["dueAt"] },
    byJoinLink: { fields: ["joinHash"] },
  },
  trainingRounds: { byFederation: { fields: ["federationId", "round"] } },
  federationEvents: { byFederation: { fields: ["federationId", "sequence"] } },
  trainerNodes: {
    byOrganization: { fields: ["organizationId", "createdAt"] },
    byTeamAndUrl: { fields: ["teamId", "url"], unique: true },
  },
  dataSets: { byOrganization: { fields: ["organizationId", "name"] } },
  ownStrategies: { byOrganization: { fields: ["organizationId", "name"] } },
} as const satisfies Definitions;

/** Name of an index of a collection. */
export type IndexName<Name extends CollectionName> = keyof (typeof INDEXES)[Name] & string;

/** All collections. */
export const COLLECTION_NAMES = Object.keys(INDEXES) as CollectionName[];

/** The indexes of a collection, by name. */
export function indexesOf(name: CollectionName): Readonly<Record<string, IndexDefinition>> {
  return INDEXES[name];
}

/** The values of a record's index fields; undefined if it lacks one of them. */
export function indexValues(record: object, definition: IndexDefinition): IndexValue[] | undefined {
  const values: IndexValue[] = [];
  for (const field of definition.fields) {
    const value = (record as Record<string, unknown>)[field];
    if (value === undefined) return undefined;
    values.push(value as IndexValue);
  }
  return values;
}

/** An id, or a value of an indexed field. */
export type IndexValue = string | number;
