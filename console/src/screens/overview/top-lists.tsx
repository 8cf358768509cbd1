import { Group, Progress, Skeleton, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import type { Query } from "../../api/client.ts";
import { keysQuery, teamsQuery, usageQuery } from "../../api/queries.ts";
import { Card } from "../../components/card.tsx";
import { Usd } from "../../components/usd.tsx";
import { usdNumber } from "../../format/money.ts";
import { count } from "../../format/text.ts";

interface TopListProps {
  /** The span of time. */
  query: Query;
}

const SHOWN = 5;
const LIVE_MS = 10_000;

export function TopModels(range: TopListProps) {
  return <TopList {...range} title="Top models" groupBy="model" nameOf={(group) => group} />;
}

export function TopKeys(range: TopListProps) {
  const { data } = useQuery(keysQuery());
  const names = new Map(data?.data.map(({ id, name }) => [id, name]));
  return <TopList {...range} title="Top keys" groupBy="key" nameOf={(group) => names.get(group) ?? `revoked (${group.slice(0, 12)})`} />;
}

export function TopTeams(range: TopListProps) {
  const { data } = useQuery(teamsQuery());
  const names = new Map(data?.data.map(({ id, name }) => [id, name]));
  return <TopList {...range} title="Top teams" groupBy="team" nameOf={(group) => names.get(group) ?? group} />;
}

interface Grouped extends TopListProps {
  title: string;
  groupBy: string;
  nameOf: (group: string) => string;
}

function TopList({ title, groupBy, nameOf, query }: Grouped) {
  const { data } = useQuery({ ...usageQuery({ ...query, groupBy, interval: "all" }), refetchInterval: LIVE_MS });
  const rows = data?.data.toSorted((left, right) => usdNumber(right.costUsd) - usdNumber(left.costUsd)).slice(0, SHOWN);
  const most = Math.max(...(rows ?? []).map((row) => usdNumber(row.costUsd)), 0);
  return (
    <Card title={title} about="by spend">
      <Stack gap="sm">
        {rows === undefined && <Skeleton height={60} />}
        {rows?.length === 0 && (
          <Text c="dimmed" size="sm">
            No calls in this period.
          </Text>
        )}
        {rows?.map((row) => {
          const name = nameOf(row.group ?? "");
          return (
            <div key={row.group}>
              <Group justify="space-between" wrap="nowrap" gap="xs">
                <Text size="sm" truncate>
                  {name}
                </Text>
                <Text size="sm" style={{ whiteSpace: "nowrap" }}>
                  <Usd amount={row.costUsd} fw={600} /> · {count(row.requests, "call")}
                </Text>
              </Group>
              <Progress value={most === 0 ? 0 : (100 * usdNumber(row.costUsd)) / most} size="xs" mt={4} aria-label={`Share of ${name}`} />
            </div>
          );
        })}
      </Stack>
    </Card>
  );
}
