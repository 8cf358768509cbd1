import assert from "node:assert/strict";
import type { z } from "zod";
import { toUsdString } from "../../../common/money.ts";
import type { AuditEntry } from "../../../proto/gen/tributary/audit/v1/audit.ts";
import type { User } from "../../../proto/gen/tributary/identity/v1/identity.ts";
import type { ApiKey } from "../../../proto/gen/tributary/keys/v1/keys.ts";
import type { LedgerEntry, Purchase, Quota } from "../../../proto/gen/tributary/ledger/v1/ledger.ts";
import type { Organization } from "../../../proto/gen/tributary/organizations/v1/organizations.ts";
import type { PageMeta } from "../../../proto/gen/tributary/paging/v1/paging.ts";
import type { Team, TeamMember } from "../../../proto/gen/tributary/teams/v1/teams.ts";
import type * as records from "../../schemas/records.ts";
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
    scopes: key.scopes?.names ?? null,
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
    actorEmail: entry.actorEmail ?? null,
    actorKind,
    action,
    target,
    organizationId: entry.organizationId ?? null,
    requestId,
    details: entry.details === "" ? {} : (JSON.parse(entry.details) as unknown),
    hash: entry.hash ?? null,
  };
}
