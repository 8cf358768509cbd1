import type { Team } from "./records.ts";

/** Whether a team may make calls, and if not, why and since when. */
export type TeamState = { status: "active" } | { status: "blocked"; reason: "quota" | "admin"; at: number };

/** An admin's block outranks a quota block, because a purchase does not lift it. */
export function teamState(team: Team): TeamState {
  const byAdminAt = team.blockedByAdminAt ?? team.blockedWithOrganizationAt;
  if (byAdminAt !== undefined) return { status: "blocked", reason: "admin", at: byAdminAt };
  if (team.blockedByQuotaAt !== undefined) return { status: "blocked", reason: "quota", at: team.blockedByQuotaAt };
  return { status: "active" };
}

/**
 * Quota blocks follow the balance: below zero every team is blocked, at zero or above none is. Returns the changed team, or undefined if
 * nothing changes.
 */
export function followBalance(team: Team, balance: bigint, now: number): Team | undefined {
  const blocked = team.blockedByQuotaAt !== undefined;
  if (balance < 0n && !blocked) return { ...team, blockedByQuotaAt: now, updatedAt: now };
  if (balance >= 0n && blocked) {
    const { blockedByQuotaAt: _, ...unblocked } = team;
    return { ...unblocked, updatedAt: now };
  }
  return undefined;
}

/** Applies or lifts the block of the organization. Returns the changed team, or undefined if nothing changes. */
export function followOrganization(team: Team, blockedAt: number | undefined, now: number): Team | undefined {
  if (team.blockedWithOrganizationAt === blockedAt) return undefined;
  const { blockedWithOrganizationAt: _, ...open } = team;
  return { ...open, ...(blockedAt === undefined ? {} : { blockedWithOrganizationAt: blockedAt }), updatedAt: now };
}
