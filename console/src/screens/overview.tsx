import { Anchor, Group, SegmentedControl, SimpleGrid } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { meQuery, quotaQuery, usageQuery } from "../api/queries.ts";
import { Card } from "../components/card.tsx";
import { ResetZoom } from "../components/charts/reset-zoom.tsx";
import { Failure } from "../components/failure.tsx";
import { Page } from "../components/page.tsx";
import { Stat } from "../components/stat.tsx";
import { RANGES, readRange } from "../components/time-range.ts";
import { asQuery, chosenSpan, spanText, usageWindow } from "../components/usage-window.ts";
import { Usd } from "../components/usd.tsx";
import { useAddress } from "../components/use-address.ts";
import { WhenSeen } from "../components/when-seen.tsx";
import { count, formatMs } from "../format/text.ts";
import { LatencyChart, RequestsChart, SpendChart } from "./overview/overview-charts.tsx";
import { TopKeys, TopModels, TopTeams } from "./overview/top-lists.tsx";

const LIVE_MS = 5_000;

export function Screen() {
  const [address, setAddress] = useAddress();
  const range = readRange(address.range);
  const { data: me } = useQuery(meQuery);
  const timeZone = me?.organization?.timezone ?? "UTC";
  const chosen = chosenSpan(address);
  const window = usageWindow({ range, ...chosen }, { now: Date.now(), timeZone });
  const query = asQuery(window.span, timeZone);
  const isZoomed = chosen.from !== undefined;
  const live = { refetchInterval: LIVE_MS };
  const quota = useQuery({ ...quotaQuery, ...live });
  const usage = useQuery({ ...usageQuery({ ...query, interval: window.interval }), ...live });
  const whole = useQuery({ ...usageQuery({ ...query, interval: "all" }), ...live });
  const failed = [quota, usage, whole].find(({ error }) => error);
  const errors = usage.data?.data.reduce((sum, bucket) => sum + bucket.errors, 0) ?? 0;
  const requests = usage.data?.meta.totals.requests ?? 0;
  const { latencyMsP50: median, latencyMsP95: slow } = whole.data?.data[0] ?? { latencyMsP50: null, latencyMsP95: null };
  const span = isZoomed ? spanText(window) : `last ${RANGES[range].label}`;
  const charted = { usage: usage.data, window, timeZone };
  return (
    <Page
      title="Overview"
      about={me?.organization?.name}
      action={
        <Group gap="sm">
          <ResetZoom />
          <SegmentedControl
            aria-label="Time range"
            value={isZoomed ? "" : range}
            onChange={(value) => setAddress({ range: value, from: undefined, to: undefined })}
            data={Object.entries(RANGES).map(([value, { label }]) => ({ value, label }))}
          />
        </Group>
      }
    >
      {failed && <Failure error={failed.error} onRetry={() => void failed.refetch()} />}
      <SimpleGrid cols={{ base: 2, md: 3 }} spacing="sm">
        <Stat
          name="Balance"
          value={quota.data && <Usd amount={quota.data.balanceUsd} />}
          note={
            <Anchor component={Link} to="/credits" inherit underline="always">
              Buy credits
            </Anchor>
          }
        />
        <Stat name="Burn rate" value={quota.data && <Usd amount={quota.data.burnRatePerDayUsd} />} note="per day" />
        <Stat name="Days left" value={quota.data && daysLeft(quota.data.estimatedDaysLeft)} note="at the current rate" />
        <Stat name="Spent" value={usage.data && <Usd amount={usage.data.meta.totals.costUsd} />} note={span} />
        <Stat name="Requests" value={usage.data && count(requests, "call")} note={errorNote({ errors, requests, span })} />
        <Stat
          name="Median latency"
          value={whole.data && (median === null ? "no calls" : formatMs(median))}
          note={slow === null ? span : `95th percentile ${formatMs(slow)}, ${span}`}
        />
      </SimpleGrid>
      <SimpleGrid cols={{ base: 1, lg: 2 }}>
        <Card title="Spend" about={`USD per ${window.interval}`}>
          <SpendChart {...charted} />
        </Card>
        <Card title="Requests and errors" about={`calls per ${window.interval}`}>
          <RequestsChart {...charted} />
        </Card>
      </SimpleGrid>
      <Card title="Latency" about={`milliseconds per ${window.interval}`}>
        <LatencyChart {...charted} />
      </Card>
      <WhenSeen height={180}>
        <SimpleGrid cols={{ base: 1, md: 3 }}>
          <TopModels query={query} />
          <TopKeys query={query} />
          <TopTeams query={query} />
        </SimpleGrid>
      </WhenSeen>
    </Page>
  );
}

function errorNote({ errors, requests, span }: { errors: number; requests: number; span: string }): string {
  return requests === 0 ? span : `${((100 * errors) / requests).toFixed(1)}% errors, ${span}`;
}

function daysLeft(days: number | null): string {
  if (days === null) return "no spend yet";
  return days > 999 ? "more than 999 days" : days < 1 ? "less than a day" : count(Math.floor(days), "day");
}
