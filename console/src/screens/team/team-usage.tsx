import { Group, SimpleGrid, Stack, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { meQuery, usageQuery } from "../../api/queries.ts";
import type { TeamDetail } from "../../api/types.ts";
import { BurnDown, hasBudget } from "../../components/budget/burn-down-card.tsx";
import { ResetZoom } from "../../components/charts/reset-zoom.tsx";
import { Failure } from "../../components/failure.tsx";
import { Stat } from "../../components/stat.tsx";
import { asQuery, chosenSpan, spanText, usageWindow } from "../../components/usage-window.ts";
import { Usd } from "../../components/usd.tsx";
import { useAddress } from "../../components/use-address.ts";
import { count } from "../../format/text.ts";
import { SpendChart } from "../overview/overview-charts.tsx";

export function TeamUsage({ team }: { team: TeamDetail }) {
  const teamId = team.id;
  const { data: me } = useQuery(meQuery);
  const timeZone = me?.organization?.timezone ?? "UTC";
  const [address] = useAddress();
  const chosen = chosenSpan(address);
  const window = usageWindow({ range: "30d", ...chosen }, { now: Date.now(), timeZone });
  const { data, error } = useQuery(usageQuery({ team_id: teamId, ...asQuery(window.span, timeZone), interval: window.interval }));
  const span = chosen.from !== undefined ? spanText(window) : "last 30 days";
  const totals = data?.meta.totals;
  return (
    <Stack>
      <Failure error={error} />
      <SimpleGrid cols={{ base: 1, xs: 3 }}>
        <Stat name="Spent" value={totals && <Usd amount={totals.costUsd} />} note={span} />
        <Stat name="Requests" value={totals && count(totals.requests, "call")} note={span} />
        <Stat name="Tokens" value={totals && count(totals.tokens, "token")} note={span} />
      </SimpleGrid>
      {hasBudget(team) && (
        <>
          <Title order={2} size="h5">
            Budget
          </Title>
          <BurnDown record={team} filter={{ usage: { team_id: teamId }, logs: { team: teamId } }} />
        </>
      )}
      <Group justify="space-between">
        <Title order={2} size="h5">
          Spend, USD per {window.interval}
        </Title>
        <ResetZoom />
      </Group>
      <SpendChart usage={data} window={window} timeZone={timeZone} filter={{ team: teamId }} />
    </Stack>
  );
}
