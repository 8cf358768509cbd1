import type { ApiKey, Team } from "../../api/types.ts";

/** The teams that a user sees and can move a key to: a member may be in one of several teams of the organization. */
export function otherTeams<Seen extends Pick<Team, "id">>(teams: readonly Seen[] | undefined, { teamId }: Pick<ApiKey, "teamId">): Seen[] {
  return (teams ?? []).filter(({ id }) => id !== teamId);
}
