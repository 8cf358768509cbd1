import type { Role } from "./records.ts";

const RANK: Readonly<Record<Role, number>> = { member: 1, admin: 2, owner: 3 };

/** A person's standing towards one team: by the team itself, or by the organisation above it. */
export interface Standing {
  organization: Role | undefined;
  team: Role | undefined;
}

/** The organisation's owner and admins stand over all its teams. A plain member of the organisation stands only in his own teams. */
export function effectiveRole({ organization, team }: Standing): Role | undefined {
  const above = organization === "owner" || organization === "admin" ? organization : undefined;
  return higher(above, team);
}

export function higher(left: Role | undefined, right: Role | undefined): Role | undefined {
  if (!left || !right) return left ?? right;
  return RANK[left] >= RANK[right] ? left : right;
}

export const manages = (role: Role | undefined): boolean => role === "owner" || role === "admin";

/** Nobody hands out more than he has. */
export const mayGrant = (own: Role, granted: Role): boolean => manages(own) && RANK[granted] <= RANK[own];
