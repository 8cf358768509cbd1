import type { Caller } from "../../../proto/gen/tributary/access/v1/access.ts";
import type { Budget } from "../../domain/budget-records.ts";
import { contentSettingOf } from "../../domain/call-contents.ts";
import { isDisabled } from "../../domain/key-state.ts";
import { MASTER_KEY_ID } from "../../domain/master-key.ts";
import { higher } from "../../domain/permissions.ts";
import { hasLimit } from "../../domain/rate-limits.ts";
import type { ApiKey, RateLimits, Team } from "../../domain/records.ts";
import { teamState } from "../../domain/team-state.ts";
import { collect } from "../../stores/page.ts";
import type { ControlDeps } from "../deps.ts";
import { optionalDate } from "../messages.ts";

/** The caller of an API key's hash; undefined if the key is unknown, removed, disabled or expired. */
export async function callerOfHash(deps: ControlDeps, hash: string): Promise<Caller | undefined> {
  const now = deps.clock.now();
  const current = await deps.store.find("keys", "byHash", [hash]);
  const rotated = current ? undefined : await deps.store.find("keys", "byPreviousHash", [hash]);
  const key = current ?? ((rotated?.previousHashUntil ?? 0) > now ? rotated : undefined);
  const until = current ? key?.expiresAt : Math.min(key?.expiresAt ?? Number.POSITIVE_INFINITY, key?.previousHashUntil ?? 0);
  return key && callerOfKey(deps, key, until);
}

/** The same by key id, for background work that has no secret. */
export async function callerOfKeyId(deps: ControlDeps, keyId: string): Promise<Caller | undefined> {
  if (keyId === MASTER_KEY_ID) return masterCaller(deps);
  const key = await deps.store.get("keys", keyId);
  return key && callerOfKey(deps, key, key.expiresAt);
}

export async function masterCaller(deps: ControlDeps): Promise<Caller | undefined> {
  const admin = await deps.store.find("users", "byEmail", [deps.config.adminEmail]);
  if (!admin) return undefined;
  const [team] = await collect(deps.store.scan("teams", { index: "byOrganization", equals: [admin.organizationId], limit: 1 }));
  if (!team) return undefined;
  const organization = await deps.store.get("organizations", admin.organizationId);
  return {
    keyId: MASTER_KEY_ID,
    keyName: "master key",
    maskedKey: "sk-...mstr",
    teamId: team.id,
    teamName: team.name,
    organizationId: admin.organizationId,
    userId: BigInt(admin.id),
    ...blockStatusOf(team),
    models: undefined,
    expiresAt: undefined,
    isAdmin: true,
    role: "owner",
    isLimited: [team, organization, admin].some(isBounded),
    logContent: contentSettingOf(organization, undefined).isStored,
    semanticCache: organization?.semanticCache,
    guardrails: [...(team.guardrails ?? [])],
  };
}

function blockStatusOf(team: Team): Pick<Caller, "status" | "blockedReason"> {
  const state = teamState(team);
  return state.status === "blocked" ? { status: "team_blocked", blockedReason: state.reason } : { status: "active" };
}

/** A first call of a key waits for these reads: they are sent at once, because the key names all that it needs. */
async function callerOfKey(deps: ControlDeps, key: ApiKey, until: number | undefined): Promise<Caller | undefined> {
  if (isDisabled(key) || (key.expiresAt !== undefined && key.expiresAt <= deps.clock.now())) return undefined;
  const { store } = deps;
  const [team, organization, user, asMember, inTeam] = await Promise.all([
    store.get("teams", key.teamId),
    store.get("organizations", key.organizationId),
    store.get("users", key.createdBy),
    store.get("organizationMembers", `${key.organizationId}/${key.createdBy}`),
    store.get("teamMembers", `${key.teamId}/${key.createdBy}`),
  ]);
  if (!team) return undefined;
  return {
    keyId: key.id,
    keyName: key.name,
    maskedKey: key.maskedKey,
    teamId: team.id,
    teamName: team.name,
    organizationId: team.organizationId,
    userId: BigInt(key.createdBy),
    ...blockStatusOf(team),
    models: key.models && { names: [...key.models] },
    teamModels: team.models && { names: [...team.models] },
    expiresAt: optionalDate(until),
    isAdmin: false,
    role: higher(asMember?.role, inTeam?.role) ?? "member",
    guardrails: [...new Set([...(team.guardrails ?? []), ...(key.guardrails ?? [])])],
    scopes: key.scopes && { names: [...key.scopes] },
    logContent: contentSettingOf(organization, key).isStored,
    semanticCache: organization?.semanticCache,
    isLimited: [key, team, organization, user].some(isBounded),
  };
}

/** Whether each call has to be reserved by itself: credit can be leased, but limits and budgets need a check per call. */
function isBounded(record: (RateLimits & Budget) | undefined): boolean {
  return record !== undefined && (record.maxBudget !== undefined || hasLimit(record));
}
