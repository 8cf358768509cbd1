import { AppError } from "../../../common/errors.ts";
import { manages } from "../../domain/permissions.ts";
import type { ApiKey, Role, Team } from "../../domain/records.ts";
import { collect } from "../../stores/page.ts";
import { organizationScope, type Scope } from "../../stores/scopes.ts";
import type { Reader, Store } from "../../stores/store.ts";
import { teamRoleOf } from "../../stores/team-role.ts";
import type { Actor } from "../actor.ts";

/** A team that the actor has access to, with the actor's role. A team of another tenant and a missing one give the same NOT_FOUND. */
export async function requireTeam(reader: Reader, actor: Actor, teamId: string): Promise<{ team: Team; role: Role }> {
  const team = await reader.get("teams", teamId);
  const role = team && (await teamRoleOf(reader, { userId: actor.user.id, team }));
  if (!team || !role) throw new AppError("NOT_FOUND", "There is no such team.");
  return { team, role };
}

/** The scope of a team's organization. A team that does not exist has none; a write to it is refused. */
export async function teamScopes(store: Store, teamId: string): Promise<readonly Scope[]> {
  const team = await store.get("teams", teamId);
  return team ? [organizationScope(store, team.organizationId)] : [];
}

export async function requireManagedTeam(reader: Reader, actor: Actor, teamId: string): Promise<{ team: Team; role: Role }> {
  const found = await requireTeam(reader, actor, teamId);
  if (!manages(found.role)) throw new AppError("FORBIDDEN", "Only an owner or admin of the team may do this.");
  return found;
}

/** The teams of the active organization that the actor may see: all of them, or those the actor is a member of. */
export async function visibleTeamIds(reader: Reader, actor: Actor): Promise<ReadonlySet<string> | "all"> {
  if (manages(actor.organizationRole)) return "all";
  const memberships = await collect(reader.scan("teamMembers", { index: "byUser", equals: [actor.user.id] }));
  return new Set(memberships.map((member) => member.teamId));
}

/** Managers of a team may change all its keys, members only the keys they created. Without access to the team a key is hidden. */
export async function mayManageKey(reader: Reader, actor: Actor, key: ApiKey): Promise<"yes" | "no" | "hidden"> {
  const team = await reader.get("teams", key.teamId);
  const role = team && (await teamRoleOf(reader, { userId: actor.user.id, team }));
  if (!role) return "hidden";
  return manages(role) || key.createdBy === actor.user.id ? "yes" : "no";
}
