import type { Role } from "./records.ts";

const RANK: Readonly<Record<Role, number>> = { member: 1, admin: 2, owner: 3 };

/** The roles that give a user access to a team: in the team itself, and in its organization. */
export interface TeamAccess {
  organization: Role | undefined;
  team: Role | undefined;
}

/** Owners and admins of the organization have that role in all its teams. Plain members have a role only in the teams they are in. */
export function effectiveRole({ organization, team }: TeamAccess): Role | undefined {
  const above = organization === "owner" || organization === "admin" ? organization : undefined;
  return higher(above, team);
}

export function higher(left: Role | undefined, right: Role | undefined): Role | undefined {
  if (!left || !right) return left ?? right;
  return RANK[left] >= RANK[right] ? left : right;
}

export const manages = (role: Role | undefined): boolean => role === "owner" || role === "admin";

/** A manager may grant roles up to their own. */
export const mayGrant = (own: Role, granted: Role): boolean => manages(own) && RANK[granted] <= RANK[own];
