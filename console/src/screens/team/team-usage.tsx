import { SimpleGrid, Stack, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { meQuery, usageQuery } from "../../api/queries.ts";
import { Failure } from "../../components/failure.tsx";
import { Stat } from "../../components/stat.tsx";
import { rangeStart } from "../../components/time-range.ts";
import { Usd } from "../../components/usd.tsx";
import { count } from "../../format/text.ts";
import { SpendChart } from "../overview/overview-charts.tsx";

export function TeamUsage({ teamId }: { teamId: string }) {
  const { data: me } = useQuery(meQuery);
  const timeZone = me?.organization?.timezone ?? "UTC";
  const startDate = rangeStart("30d", { now: Date.now(), timeZone });
  const { data, error } = useQuery(usageQuery({ team_id: teamId, startDate, tz: timeZone, interval: "day" }));
  const totals = data?.meta.totals;
  return (
    <Stack>
      <Failure error={error} />
      <SimpleGrid cols={{ base: 1, xs: 3 }}>
        <Stat name="Spent" value={totals && <Usd amount={totals.costUsd} />} note="last 30 days" />
        <Stat name="Requests" value={totals && count(totals.requests, "call")} note="last 30 days" />
        <Stat name="Tokens" value={totals && count(totals.tokens, "token")} note="last 30 days" />
      </SimpleGrid>
      <Title order={2} size="h5">
        Spend, USD per day
      </Title>
      <SpendChart usage={data} range="30d" timeZone={timeZone} />
    </Stack>
  );
}
