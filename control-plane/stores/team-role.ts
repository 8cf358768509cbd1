import { effectiveRole } from "../domain/permissions.ts";
import type { Role, Team } from "../domain/records.ts";
import type { Reader } from "./store.ts";

/** The role that a user has in a team, by a membership of the team or of its organization. */
export async function teamRoleOf(reader: Reader, { userId, team }: { userId: number; team: Team }): Promise<Role | undefined> {
  const [organization, member] = await Promise.all([
    reader.get("organizationMembers", `${team.organizationId}/${userId}`),
    reader.get("teamMembers", `${team.id}/${userId}`),
  ]);
  return effectiveRole({ organization: organization?.role, team: member?.role });
}
