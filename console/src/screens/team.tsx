import { Alert, Anchor, Skeleton, Tabs } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import { meQuery, teamQuery } from "../api/queries.ts";
import type { Me } from "../api/session.ts";
import type { TeamDetail } from "../api/types.ts";
import { Card } from "../components/card.tsx";
import { Failure } from "../components/failure.tsx";
import { Page } from "../components/page.tsx";
import { useAddress } from "../components/use-address.ts";
import { count } from "../format/text.ts";
import { DeleteTeam } from "./team/delete-team.tsx";
import { TeamKeys } from "./team/team-keys.tsx";
import { TeamLimits } from "./team/team-limits.tsx";
import { TeamMembers } from "./team/team-members.tsx";
import { TeamUsage } from "./team/team-usage.tsx";

const TABS = ["members", "keys", "limits", "usage"] as const;

export function Screen() {
  const { teamId = "" } = useParams({ strict: false }) as { teamId?: string };
  const [address, setAddress] = useAddress();
  const { data: team, error, refetch } = useQuery(teamQuery(teamId));
  const { data: me } = useQuery(meQuery);
  const tab = TABS.find((name) => name === address.tab) ?? "members";
  if (error) {
    return (
      <Page title="Team">
        <Failure error={error} onRetry={() => void refetch()} />
        <Anchor component={Link} to="/teams">
          All teams
        </Anchor>
      </Page>
    );
  }
  if (!team) {
    return (
      <Page title="Team">
        <Skeleton height={240} />
      </Page>
    );
  }
  return (
    <Page
      title={team.name}
      about={`${count(team.memberCount, "member")}, ${count(team.keyCount, "key")}`}
      action={mayDelete(me, team) && <DeleteTeam team={team} />}
    >
      {team.status === "blocked" && (
        <Alert
          color="red"
          variant="light"
          title="This team is blocked"
          role="status"
          styles={{ title: { color: "var(--mantine-color-error)" } }}
        >
          {team.blockedReason === "quota"
            ? "The organization is out of credits. Buying credits unblocks the team within a second."
            : "A platform administrator blocked this team. Only an administrator can unblock it."}
        </Alert>
      )}
      <Card>
        <Tabs value={tab} onChange={(value) => setAddress({ tab: value ?? undefined })} keepMounted={false}>
          <Tabs.List mb="md" className="scrolling-tabs">
            <Tabs.Tab value="members">Members</Tabs.Tab>
            <Tabs.Tab value="keys">Keys</Tabs.Tab>
            <Tabs.Tab value="limits">Limits</Tabs.Tab>
            <Tabs.Tab value="usage">Usage</Tabs.Tab>
          </Tabs.List>
          <Tabs.Panel value="members">
            <TeamMembers team={team} />
          </Tabs.Panel>
          <Tabs.Panel value="keys">
            <TeamKeys team={team} />
          </Tabs.Panel>
          <Tabs.Panel value="limits">
            <TeamLimits team={team} />
          </Tabs.Panel>
          <Tabs.Panel value="usage">
            <TeamUsage team={team} />
          </Tabs.Panel>
        </Tabs>
      </Card>
    </Page>
  );
}

/** As the API allows it: owners of the team, owners and admins of the organization, and not the last team. */
function mayDelete(me: Me | undefined, team: TeamDetail): boolean {
  if (!me?.organization || me.organization.teamCount < 2) return false;
  const isOwner = team.members.some(({ userId, role }) => userId === me.user.id && role === "owner");
  return isOwner || me.organization.role !== "member";
}
