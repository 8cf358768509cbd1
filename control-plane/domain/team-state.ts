import type { Team } from "./records.ts";

export type TeamState = { status: "active" } | { status: "blocked"; reason: "quota" | "admin"; at: number };

/** An admin's block outranks the balance's: it is what must be lifted last. */
export function teamState(team: Team): TeamState {
  const byAdminAt = team.blockedByAdminAt ?? team.blockedWithOrganizationAt;
  if (byAdminAt !== undefined) return { status: "blocked", reason: "admin", at: byAdminAt };
  if (team.blockedByQuotaAt !== undefined) return { status: "blocked", reason: "quota", at: team.blockedByQuotaAt };
  return { status: "active" };
}

/**
 * The document's state machine: below zero every team is blocked, at zero or above none is (for quota). Returns the team as it
 * must be, or undefined when it is so already.
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

/** The team as it must be while its organisation is blocked by an admin, or no longer is; undefined: it is so already. */
export function followOrganization(team: Team, blockedAt: number | undefined, now: number): Team | undefined {
  if (team.blockedWithOrganizationAt === blockedAt) return undefined;
  const { blockedWithOrganizationAt: _, ...open } = team;
  return { ...open, ...(blockedAt === undefined ? {} : { blockedWithOrganizationAt: blockedAt }), updatedAt: now };
}
