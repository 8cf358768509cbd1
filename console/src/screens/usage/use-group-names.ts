import { useQuery } from "@tanstack/react-query";
import { keysQuery, meQuery, teamsQuery } from "../../api/queries.ts";
import type { GroupName } from "./metrics.ts";

/** Maps group IDs to names. A revoked key is shown with the start of its ID. */
export function useGroupNames(group: GroupName): (id: string) => string {
  const { data: me } = useQuery(meQuery);
  const { data: keys } = useQuery(keysQuery());
  const { data: teams } = useQuery(teamsQuery());
  switch (group) {
    case "model":
      return (id) => id || "no model";
    case "key":
      return (id) => keys?.data.find((key) => key.id === id)?.name ?? `revoked (${id.slice(0, 12)})`;
    case "team":
      return (id) => teams?.data.find((team) => team.id === id)?.name ?? id;
    case "user":
      return (id) => (me && String(me.user.id) === id ? `${me.user.name || me.user.email} (you)` : `user ${id}`);
  }
}
