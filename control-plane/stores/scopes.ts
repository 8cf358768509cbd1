import { slotOf } from "../../common/slots.ts";
import { ANCHOR_SLOT, ANCHORED, ANCHORS } from "../domain/anchors.ts";
import { CHECKPOINTS } from "../domain/checkpoints.ts";
import type { CollectionName, Records } from "./collections.ts";

/**
 * What a transaction may write. Transactions of one scope are serialized over all control planes; those of different scopes run in parallel.
 * A slot has one owner at a time, which alone may write in it; every other scope is shared by all control planes.
 */
export type Scope =
  | `slot:${number}`
  /** Who may do what: users, sessions, memberships, invitations, API keys. */
  | "identity"
  /** What can be called, and at which price. */
  | "catalog"
  | "audit"
  | "settings"
  /** Events of the payment provider, before the organization is known. */
  | "payments"
  | `federation:${string}`
  | `team-records:${string}`
  /** Bytes of an organization's files. Not its slot, because an upload is a stream, which cannot move to the owner. */
  | `storage:${string}`
  /** Any record, ordered only with others of this scope: for migrations, which run before the store is used, and for fixtures of tests. */
  | "every";

/** The scope of a transaction that names several, or none: then it writes only records that need no order. */
export type Scopes = Scope | readonly Scope[];

/**
 * `any`: the record needs no order beyond its own. Every write of it depends on nothing but the record itself and its unique indexes, so
 * that two writes at the same time conflict in the store, and one of them runs again.
 */
type Rule<Name extends CollectionName> = Scope | "any" | ((record: Records[Name], slots: number) => Scope | "any");

/** The scope of an organization: its slot. */
export function organizationScope({ slots }: { readonly slots: number }, organizationId: string): Scope {
  return slotScope(slotOf(organizationId, slots));
}

/** The scope of a slot. */
export function slotScope(slot: number): Scope {
  return `slot:${slot}`;
}

/** The slot of a scope; undefined for scopes that are shared. */
export function slotOfScope(scope: Scope): number | undefined {
  return scope.startsWith("slot:") ? Number(scope.slice("slot:".length)) : undefined;
}

/** The scopes of a transaction as a list. */
export function listOf(scopes: Scopes): readonly Scope[] {
  return typeof scopes === "string" ? [scopes] : scopes;
}

/** The scope of a federation with its rounds and events. */
export function federationScope(federationId: string): Scope {
  return `federation:${federationId}`;
}

/** The scope of the records of a team, with their contents. */
export function teamRecordsScope(teamId: string): Scope {
  return `team-records:${teamId}`;
}

/** The scope of the sum of an organization's files. */
export function storageScope(organizationId: string): Scope {
  return `storage:${organizationId}`;
}

/** The scope of records with an organization, as a rule of the table below. */
export const ofOrganization = ({ organizationId }: { organizationId: string }, slots: number): Scope =>
  organizationScope({ slots }, organizationId);

const ofFederation = ({ federationId }: { federationId: string }): Scope => federationScope(federationId);

/** The scope of every collection's records. */
const SCOPES: { readonly [Name in CollectionName]: Rule<Name> } = {
  users: "identity",
  sessions: "identity",
  passwordResets: "identity",
  emailVerifications: "identity",
  secondFactors: "identity",
  identities: "identity",
  finishedSignIns: "identity",
  // Memberships and keys are not in the organization's slot: a user who is deleted leaves all organizations in one transaction.
  organizationMembers: "identity",
  teamMembers: "identity",
  invitations: "identity",
  keys: "identity",

  organizations: ({ id }, slots) => organizationScope({ slots }, id),
  teams: ofOrganization,
  accounts: ({ id }, slots) => scopeOfAccount(id, slots),
  ledger: ofOrganization,
  ledgerHead: ({ id }) => slotScope(Number(id)),
  anchors: slotScope(ANCHOR_SLOT),
  checkpoints: slotScope(ANCHOR_SLOT),
  outbox: ({ fromOrganizationId }, slots) => organizationScope({ slots }, fromOrganizationId),
  purchases: ofOrganization,
  usage: ofOrganization,
  usageArchives: ofOrganization,
  rollups: ofOrganization,
  leases: ofOrganization,
  webhooks: ofOrganization,
  alerts: ofOrganization,
  mcpServers: ofOrganization,
  // Sums that settlements add to. A budget of a user or a model is spent by several organizations.
  keyUses: "any",
  budgetUses: "any",
  paidWork: "any",
  // Each is claimed, changed and removed by itself.
  notices: "any",
  deliveries: "any",
  callContents: "any",
  idempotency: "any",
  trainerNodes: "any",
  dataSets: "any",
  ownStrategies: "any",

  payments: "payments",
  paymentEvents: "payments",

  providers: "catalog",
  models: "catalog",
  prices: "catalog",
  gatewaySettings: "catalog",
  // The names of public trained models and of the catalog's models exclude each other.
  trainedModels: "catalog",
  trainedVersions: "catalog",

  federations: ({ id }) => federationScope(id),
  trainingRounds: ofFederation,
  federationEvents: ofFederation,

  records: ({ teamId }) => teamRecordsScope(teamId),
  contents: ({ id }) => teamRecordsScope(id.slice(0, id.indexOf("/"))),
  storage: ({ id }) => storageScope(id),

  audit: "audit",
  auditArchives: "audit",
  settings: "settings",
  // A row is written with the counter of its scope (feed-lanes.ts).
  feed: "any",
  counters: ({ id }) => scopeOfCounter(id),
};

/** The scope of a record; `any` if it needs no order. */
export function scopeOf<Name extends CollectionName>(collection: Name, record: Records[Name], slots: number): Scope | "any" {
  const rule = ruleOf(collection);
  return typeof rule === "function" ? rule(record, slots) : rule;
}

/** The scopes of several records of a collection. */
export function scopesOf<Name extends CollectionName>(collection: Name, records: readonly Records[Name][], slots: number): Scope[] {
  const scopes = new Set(records.map((record) => scopeOf(collection, record, slots)));
  return [...scopes].filter((scope) => scope !== "any");
}

/** Whether this control plane may write in a scope: it is shared, or a slot that this control plane owns. */
export function isOwn(store: { owns(slot: number): boolean }, scope: Scope | "any"): boolean {
  const slot = scope === "any" ? undefined : slotOfScope(scope);
  return slot === undefined || store.owns(slot);
}

/** The rule of a collection in the table. */
export function ruleOf<Name extends CollectionName>(collection: Name): Rule<Name> {
  return SCOPES[collection];
}

function scopeOfAccount(id: string, slots: number): Scope | "any" {
  const [kind = "", rest] = [id.slice(0, id.indexOf(":")), id.slice(id.indexOf(":") + 1)];
  if (kind === "org") return organizationScope({ slots }, rest);
  if (kind === "training") return federationScope(rest);
  // Accounts of the platform: `revenue/17`, or `revenue` in a store of one slot.
  return slotScope(Number(id.split("/")[1] ?? 0));
}

function scopeOfCounter(id: string): Scope | "any" {
  const [series, of = ""] = id.split("/", 2);
  switch (series) {
    case "audit":
      return "audit";
    case "users":
      return "identity";
    case "records":
      return teamRecordsScope(of);
    case "feed":
      return of as Scope;
    case "leases":
      return slotScope(Number(of));
    case ANCHORS:
    case ANCHORED:
    case CHECKPOINTS:
      return slotScope(ANCHOR_SLOT);
    default:
      return "any";
  }
}
