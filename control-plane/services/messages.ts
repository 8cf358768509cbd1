// Conversion of domain records to messages that several services return.

import type { Budget as BudgetMessage } from "../../proto/gen/tributary/budgets/v1/budgets.ts";
import type { User as UserMessage } from "../../proto/gen/tributary/identity/v1/identity.ts";
import type { ApiKey as ApiKeyMessage } from "../../proto/gen/tributary/keys/v1/keys.ts";
import type { Organization as OrganizationMessage } from "../../proto/gen/tributary/organizations/v1/organizations.ts";
import type { PageMeta } from "../../proto/gen/tributary/paging/v1/paging.ts";
import type { TeamMember as TeamMemberMessage, Team as TeamMessage } from "../../proto/gen/tributary/teams/v1/teams.ts";
import type { Budget, BudgetKind } from "../domain/budget-records.ts";
import { budgetName, periodEnd, spentOf } from "../domain/budgets.ts";
import { DEFAULT_CONTENT_DAYS } from "../domain/call-contents.ts";
import { isDisabled } from "../domain/key-state.ts";
import { organizationAccount } from "../domain/ledger.ts";
import { rateLimitsOf } from "../domain/rate-limits.ts";
import type { ApiKey, Organization, Role, Team, User } from "../domain/records.ts";
import { teamState } from "../domain/team-state.ts";
import { collect, type PageNumber } from "../stores/page.ts";
import type { Reader } from "../stores/store.ts";
import { activeFactor } from "../writes/second-factor.ts";

const SPEND_WINDOW_MS = 30 * 24 * 3_600_000;
const PAGE_SIZE_MAX = 100;

export const date = (moment: number): Date => new Date(moment);
export const optionalDate = (moment: number | undefined): Date | undefined => (moment === undefined ? undefined : new Date(moment));

/** Bounds the page size again, because not every gRPC client is an edge that has checked it. */
export function pageOf(page: { page: number; pageSize: number } | undefined): PageNumber {
  return {
    page: Math.max(1, page?.page || 1),
    pageSize: Math.min(PAGE_SIZE_MAX, Math.max(1, page?.pageSize || 20)),
  };
}

export function metaOf(page: PageNumber, total: number): PageMeta {
  return { page: page.page, pageSize: page.pageSize, total, totalPages: Math.ceil(total / page.pageSize) };
}

/** A budget with its spend; undefined without a budget. */
export async function budgetMessage(
  reader: Reader,
  { kind, id, record, now }: { kind: BudgetKind; id: string | number; record: Budget; now: number },
): Promise<BudgetMessage | undefined> {
  const { maxBudget, budgetPeriod } = record;
  if (maxBudget === undefined) return undefined;
  const isTotal = kind === "key" && budgetPeriod === undefined;
  const spend = isTotal
    ? ((await reader.get("keyUses", id))?.spend ?? 0n)
    : spentOf(await reader.get("budgetUses", budgetName(kind, id)), now);
  return { maxBudget, period: budgetPeriod, spend, resetsAt: optionalDate(periodEnd(budgetPeriod, now)) };
}

export function userMessage(user: User): UserMessage {
  return {
    id: BigInt(user.id),
    email: user.email,
    name: user.name,
    role: user.role,
    organizationId: user.organizationId,
    createdAt: date(user.createdAt),
    lastLoginAt: optionalDate(user.lastLoginAt),
    limits: rateLimitsOf(user),
    emailVerified: user.emailVerifiedAt !== undefined,
    disabledAt: optionalDate(user.disabledAt),
    totpEnabled: false,
  };
}

export async function userWithBudget(reader: Reader, user: User, now: number): Promise<UserMessage> {
  const [budget, factor] = await Promise.all([
    budgetMessage(reader, { kind: "user", id: user.id, record: user, now }),
    activeFactor(reader, user.id),
  ]);
  return { ...userMessage(user), budget, totpEnabled: factor !== undefined };
}

export async function organizationMessage(
  reader: Reader,
  organization: Organization,
  view: { role: Role; activeId: string; now: number },
): Promise<OrganizationMessage> {
  const [budget, account, memberCount, teamCount] = await Promise.all([
    budgetMessage(reader, { kind: "organization", id: organization.id, record: organization, now: view.now }),
    reader.get("accounts", organizationAccount(organization.id)),
    reader.count("organizationMembers", { index: "byOrganization", equals: [organization.id] }),
    reader.count("teams", { index: "byOrganization", equals: [organization.id] }),
  ]);
  const balance = account?.balance ?? 0n;
  return {
    id: organization.id,
    name: organization.name,
    ownerId: BigInt(organization.ownerId),
    role: view.role,
    isActive: organization.id === view.activeId,
    balance,
    ...blockOf(organization, balance),
    timezone: organization.timezone,
    memberCount,
    teamCount,
    lowBalanceThreshold: organization.lowBalanceThreshold,
    createdAt: date(organization.createdAt),
    updatedAt: date(organization.updatedAt),
    limits: rateLimitsOf(organization),
    budget,
    logContent: organization.logContent ?? false,
    logContentDays: organization.logContentDays ?? DEFAULT_CONTENT_DAYS,
    semanticCache: organization.semanticCache,
  };
}

/** An admin's block outranks a quota block, as for teams. */
function blockOf({ blockedAt, blockReason }: Organization, balance: bigint) {
  if (blockedAt !== undefined) {
    return { status: "blocked", blockedReason: "admin", blockedAt: date(blockedAt), blockNote: blockReason };
  }
  return balance < 0n ? { status: "blocked", blockedReason: "quota" } : { status: "active" };
}

export async function teamMessage(reader: Reader, team: Team, now: number, known?: ReadonlyMap<string, bigint>): Promise<TeamMessage> {
  const [budget, memberCount, keyCount, spends] = await Promise.all([
    budgetMessage(reader, { kind: "team", id: team.id, record: team, now }),
    reader.count("teamMembers", { index: "byTeam", equals: [team.id] }),
    reader.count("keys", { index: "byTeam", equals: [team.id] }),
    known ?? teamSpends(reader, team.organizationId, now),
  ]);
  const state = teamState(team);
  return {
    id: team.id,
    name: team.name,
    organizationId: team.organizationId,
    status: state.status,
    blockedReason: state.status === "blocked" ? state.reason : undefined,
    blockedAt: state.status === "blocked" ? date(state.at) : undefined,
    memberCount,
    keyCount,
    models: team.models && { names: [...team.models] },
    guardrails: team.guardrails && { names: [...team.guardrails] },
    rpm: team.rpm,
    tpm: team.tpm,
    maxParallelRequests: team.maxParallelRequests,
    budget,
    spend: spends.get(team.id) ?? 0n,
    createdAt: date(team.createdAt),
    updatedAt: date(team.updatedAt),
  };
}

/** Spend of each team of an organization in the last 30 days, from the roll-ups. */
export async function teamSpends(reader: Reader, organizationId: string, now: number): Promise<Map<string, bigint>> {
  const spends = new Map<string, bigint>();
  const range = { index: "byOrganization", equals: [organizationId], from: now - SPEND_WINDOW_MS } as const;
  for await (const rollup of reader.scan("rollups", range)) {
    spends.set(rollup.teamId, (spends.get(rollup.teamId) ?? 0n) + rollup.cost);
  }
  return spends;
}

export function keyStatus(key: ApiKey, team: Team | undefined, now: number): "active" | "blocked" | "expired" {
  if (key.expiresAt !== undefined && key.expiresAt <= now) return "expired";
  return isDisabled(key) || (team && teamState(team).status === "blocked") ? "blocked" : "active";
}

export async function keyMessage(reader: Reader, key: ApiKey, now: number): Promise<ApiKeyMessage> {
  const [team, use, budget] = await Promise.all([
    reader.get("teams", key.teamId),
    reader.get("keyUses", key.id),
    budgetMessage(reader, { kind: "key", id: key.id, record: key, now }),
  ]);
  return {
    id: key.id,
    token: key.hash,
    name: key.name,
    maskedKey: key.maskedKey,
    teamId: key.teamId,
    teamName: team?.name ?? "",
    organizationId: key.organizationId,
    status: keyStatus(key, team, now),
    models: key.models && { names: [...key.models] },
    guardrails: key.guardrails && { names: [...key.guardrails] },
    scopes: key.scopes && { names: [...key.scopes] },
    rpm: key.rpm,
    tpm: key.tpm,
    maxParallelRequests: key.maxParallelRequests,
    maxBudget: key.maxBudget,
    budget,
    spend: use?.spend ?? 0n,
    createdBy: BigInt(key.createdBy),
    createdAt: date(key.createdAt),
    lastUsedAt: optionalDate(use?.lastUsedAt),
    expiresAt: optionalDate(key.expiresAt),
    logContent: key.logContent,
    logContentDays: key.logContentDays,
  };
}

/** Members of a team, then its pending invitations. */
export async function memberMessages(reader: Reader, teamId: string, now: number): Promise<TeamMemberMessage[]> {
  const members = await collect(reader.scan("teamMembers", { index: "byTeam", equals: [teamId] }));
  const users = await reader.getMany(
    "users",
    members.map((member) => member.userId),
  );
  const invitations = await collect(reader.scan("invitations", { index: "byTeamAndEmail", equals: [teamId] }));
  return [
    ...members.map((member, index) => ({
      memberId: String(member.userId),
      userId: BigInt(member.userId),
      email: users[index]?.email ?? "",
      name: users[index]?.name,
      role: member.role,
      status: "active",
      invitedAt: date(member.invitedAt),
      joinedAt: date(member.joinedAt),
    })),
    ...invitations
      .filter((invitation) => invitation.expiresAt > now)
      .map((invitation) => ({
        memberId: invitation.id,
        userId: undefined,
        email: invitation.email,
        name: undefined,
        role: invitation.role,
        status: "invited",
        invitedAt: date(invitation.invitedAt),
        joinedAt: undefined,
      })),
  ];
}
