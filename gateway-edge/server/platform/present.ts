import assert from "node:assert/strict";
import type { z } from "zod";
import { toUsdString } from "../../../common/money.ts";
import type { PriceMessage, TokenPrices } from "../../../common/pricing.ts";
import type { ProviderKind } from "../../../common/providers/shared/provider-kind.ts";
import type { AuditEntry } from "../../../proto/gen/tributary/audit/v1/audit.ts";
import type { Model, Pricing, Provider } from "../../../proto/gen/tributary/catalog/v1/catalog.ts";
import type { User } from "../../../proto/gen/tributary/identity/v1/identity.ts";
import type { ApiKey } from "../../../proto/gen/tributary/keys/v1/keys.ts";
import type { LedgerEntry, Purchase, Quota } from "../../../proto/gen/tributary/ledger/v1/ledger.ts";
import type { Organization } from "../../../proto/gen/tributary/organizations/v1/organizations.ts";
import type { PageMeta } from "../../../proto/gen/tributary/paging/v1/paging.ts";
import type { Team, TeamMember } from "../../../proto/gen/tributary/teams/v1/teams.ts";
import type * as records from "../../schemas/records.ts";
import { presentTrained } from "../http/models/trained-facts.ts";
import { presentBudget } from "./budgets.ts";
import { presentLimits } from "./rate-limits.ts";

// Messages of the control plane as records of the API: absent becomes null, and amounts get their decimal sibling.

/** Asserts a field that the control plane always sends. */
export function sent<Value>(value: Value | undefined, field: string): Value {
  assert(value !== undefined, `the control plane left out ${field}`);
  return value;
}

export function presentList<Item, Record>(
  items: readonly Item[],
  meta: PageMeta | undefined,
  present: (item: Item) => Record,
): { data: Record[]; meta: z.infer<typeof records.pageMeta> } {
  const { page, pageSize, total, totalPages } = sent(meta, "meta");
  return { data: items.map(present), meta: { page, pageSize, total, totalPages } };
}

type Money<Name extends string> = { [Field in Name]: bigint } & { [Field in `${Name}Usd`]: string };

export function money<Name extends string>(name: Name, amount: bigint): Money<Name> {
  return { [name]: amount, [`${name}Usd`]: toUsdString(amount) } as Money<Name>;
}

export function presentUser(user: User): z.infer<typeof records.userRecord> {
  const { id, email, name, role, organizationId } = user;
  return {
    id,
    email,
    name,
    role,
    organizationId,
    ...presentLimits(user.limits),
    ...presentBudget(user.budget),
    emailVerified: user.emailVerified,
    totpEnabled: user.totpEnabled,
    status: user.disabledAt ? "disabled" : "active",
    disabledAt: user.disabledAt ?? null,
    createdAt: sent(user.createdAt, "createdAt"),
    lastLoginAt: user.lastLoginAt ?? null,
  };
}

export function presentOrganization(organization: Organization): z.infer<typeof records.organizationRecord> {
  const { id, name, ownerId, role, isActive, status, timezone, memberCount, teamCount } = organization;
  return {
    id,
    name,
    ownerId,
    role,
    isActive,
    ...money("balance", organization.balance),
    status,
    blockedReason: organization.blockedReason ?? null,
    blockedAt: organization.blockedAt ?? null,
    blockNote: organization.blockNote ?? null,
    timezone,
    memberCount,
    teamCount,
    lowBalanceThreshold: organization.lowBalanceThreshold ?? null,
    logContent: organization.logContent,
    logContentDays: organization.logContentDays,
    semanticCache: presentSemanticCache(organization.semanticCache),
    ...presentLimits(organization.limits),
    ...presentBudget(organization.budget),
    createdAt: sent(organization.createdAt, "createdAt"),
    updatedAt: sent(organization.updatedAt, "updatedAt"),
  };
}

function presentSemanticCache(setting: Organization["semanticCache"]): z.infer<typeof records.organizationRecord>["semanticCache"] {
  if (!setting) return null;
  return { enabled: setting.enabled, threshold: setting.threshold ?? null, embeddingModel: setting.embeddingModel ?? null };
}

export function presentTeam(team: Team): z.infer<typeof records.teamRecord> {
  const { id, name, organizationId, status, memberCount, keyCount } = team;
  return {
    id,
    name,
    organizationId,
    status,
    blockedReason: team.blockedReason ?? null,
    blockedAt: team.blockedAt ?? null,
    memberCount,
    keyCount,
    models: team.models?.names ?? null,
    guardrails: team.guardrails?.names ?? null,
    ...presentLimits(team),
    ...presentBudget(team.budget),
    ...money("spend", team.spend),
    createdAt: sent(team.createdAt, "createdAt"),
    updatedAt: sent(team.updatedAt, "updatedAt"),
  };
}

export function presentTeamMember(member: TeamMember): z.infer<typeof records.teamMemberRecord> {
  const { email, role, status } = member;
  return {
    memberId: member.userId ?? member.memberId,
    userId: member.userId ?? null,
    email,
    name: member.name ?? null,
    role,
    status,
    invitedAt: sent(member.invitedAt, "invitedAt"),
    joinedAt: member.joinedAt ?? null,
  };
}

export function presentApiKey(key: ApiKey): z.infer<typeof records.apiKeyRecord> {
  const { id, token, name, maskedKey, teamId, teamName, organizationId, status, createdBy } = key;
  return {
    id,
    token,
    name,
    maskedKey,
    team_id: teamId,
    teamId,
    teamName,
    organizationId,
    status,
    models: key.models?.names ?? null,
    guardrails: key.guardrails?.names ?? null,
    ...presentLimits(key),
    ...presentBudget(key.budget),
    ...money("spend", key.spend),
    createdBy,
    createdAt: sent(key.createdAt, "createdAt"),
    lastUsedAt: key.lastUsedAt ?? null,
    expiresAt: key.expiresAt ?? null,
    logContent: key.logContent ?? null,
    logContentDays: key.logContentDays ?? null,
  };
}

export function presentModel(model: Model): z.infer<typeof records.modelRecord> {
  const { id, name, type, description, capabilities, supportedParams, status } = model;
  const createdAt = sent(model.createdAt, "createdAt");
  return {
    id,
    name,
    provider: { id: model.providerId, name: model.providerName },
    type,
    description,
    contextWindow: model.contextWindow ?? null,
    maxOutputTokens: model.maxOutputTokens ?? null,
    // Null if there is no price yet; then the model cannot be called.
    pricing: model.pricing ? presentPricing(model.pricing) : null,
    capabilities,
    supportedParams,
    status,
    ...presentLimits(model.limits),
    trained: model.trained ? presentTrained(model.trained) : null,
    createdAt,
    updatedAt: sent(model.updatedAt, "updatedAt"),
  };
}

/** Budgets of models are only shown to admins. */
export function presentAdminModel(model: Model): z.infer<typeof records.adminModelRecord> {
  const { inferenceModelId } = model;
  return { ...presentModel(model), source: sourceOf(model), inferenceModelId, ...presentBudget(model.budget) };
}

function presentPricing(price: Pricing) {
  return { version: price.version, effectiveAt: sent(price.effectiveAt, "effectiveAt"), ...presentPrice(price) };
}

export function presentPrice(price: Omit<PriceMessage, "unit"> & { readonly unit?: string | undefined }) {
  return {
    unit: price.unit ?? "token",
    ...presentPrices(price),
    audioInput: price.audioInput ?? null,
    audioOutput: price.audioOutput ?? null,
    webSearch: price.webSearch ?? null,
    fees: Object.fromEntries(Object.entries(price.fees ?? {}).filter((fee): fee is [string, bigint] => fee[1] !== undefined)),
    ...(price.images && { images: price.images.prices }),
    tiers: (price.tiers?.tiers ?? []).map((tier) => ({ aboveInputTokens: tier.aboveInputTokens, ...presentPrices(tier) })),
  };
}

function presentPrices(price: TokenPrices) {
  return {
    ...money("input", price.input),
    ...money("output", price.output),
    cachedInput: price.cachedInput ?? null,
    cacheWrite: price.cacheWrite ?? null,
    cacheWriteHour: price.cacheWriteHour ?? null,
  };
}

export function presentProvider({ id, name, kind, status, modelCount }: Provider): z.infer<typeof records.providerRecord> {
  return { id, name, kind, status, modelCount };
}

export function presentAdminProvider(provider: Provider): z.infer<typeof records.adminProviderRecord> {
  return { ...presentProvider(provider), source: sourceOf(provider) };
}

export function presentProviderKind(declaration: ProviderKind): z.infer<typeof records.providerKindRecord> {
  const { kind, displayName: name, prefixes, environment, baseUrl = null, needsBaseUrl = false, operations } = declaration;
  const variables = Object.entries(environment).map(([parameter, names]) => [parameter, [...names]]);
  return {
    kind,
    name,
    prefixes: [...prefixes],
    environment: Object.fromEntries(variables),
    baseUrl,
    needsBaseUrl,
    operations: [...operations],
  };
}

/** An older control plane sends no source; then it is the catalog. */
function sourceOf({ source }: { source: string }): "catalog" | "configuration" | "training" {
  return source === "configuration" || source === "training" ? source : "catalog";
}

export function presentQuota(quota: Quota): z.infer<typeof records.quotaRecord> {
  return {
    organizationId: quota.organizationId,
    ...money("balance", quota.balance),
    ...money("reserved", quota.reserved),
    ...money("available", quota.available),
    ...money("totalPurchased", quota.totalPurchased),
    ...money("totalGranted", quota.totalGranted),
    ...money("totalRewarded", quota.totalRewarded),
    ...money("totalUsed", quota.totalUsed),
    status: quota.status,
    blockedTeams: quota.blockedTeams,
    lowBalanceThreshold: quota.lowBalanceThreshold ?? null,
    ...money("burnRatePerDay", quota.burnRatePerDay),
    estimatedDaysLeft: quota.estimatedDaysLeft ?? null,
    updatedAt: sent(quota.updatedAt, "updatedAt"),
    ledgerSeq: quota.ledgerSeq,
    paymentMethods: quota.paymentMethods,
  };
}

export function presentLedgerEntry(entry: LedgerEntry): z.infer<typeof records.ledgerEntryRecord> {
  return {
    seq: entry.seq,
    type: entry.type,
    ...money("amount", entry.amount),
    ...money("balanceAfter", entry.balanceAfter),
    callId: entry.callId ?? null,
    purchaseId: entry.purchaseId ?? null,
    reference: entry.reference ?? null,
    createdAt: sent(entry.createdAt, "createdAt"),
  };
}

export function presentPurchase(purchase: Purchase): z.infer<typeof records.purchaseRecord> {
  const { id, organizationId, method, status, createdBy } = purchase;
  return {
    id,
    organizationId,
    ...money("amount", purchase.amount),
    method,
    status,
    checkoutUrl: purchase.checkoutUrl ?? null,
    reference: purchase.reference ?? null,
    createdBy,
    createdAt: sent(purchase.createdAt, "createdAt"),
    completedAt: purchase.completedAt ?? null,
  };
}

export function presentAuditEntry(entry: AuditEntry): z.infer<typeof records.auditEntryRecord> {
  const { seq, actorKind, action, target, requestId } = entry;
  return {
    seq,
    at: sent(entry.at, "at"),
    actorId: entry.actorId ?? null,
    actorKind,
    action,
    target,
    organizationId: entry.organizationId ?? null,
    requestId,
    details: entry.details === "" ? {} : (JSON.parse(entry.details) as unknown),
    hash: entry.hash ?? null,
  };
}
