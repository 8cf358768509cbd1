import { Group, SimpleGrid, Switch } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { meQuery, usageQuery } from "../api/queries.ts";
import type { Totals, UsageBucket } from "../api/types.ts";
import { Card } from "../components/card.tsx";
import { ResetZoom } from "../components/charts/reset-zoom.tsx";
import { Failure } from "../components/failure.tsx";
import { Page } from "../components/page.tsx";
import { Stat } from "../components/stat.tsx";
import { asQuery, usageWindow } from "../components/usage-window.ts";
import { Usd } from "../components/usd.tsx";
import { useAddress } from "../components/use-address.ts";
import { nanoOf } from "../format/money.ts";
import { count, formatMs } from "../format/text.ts";
import { ChartCard } from "./usage/chart-card.tsx";
import { GroupTable } from "./usage/group-table.tsx";
import { GROUPS, sumByGroup } from "./usage/metrics.ts";
import { readUsageAddress } from "./usage/usage-address.ts";
import { useGroupNames } from "./usage/use-group-names.ts";
import { WindowPicker } from "./usage/window-picker.tsx";

/** The log filter that selects the calls of a group. */
const FILTERS = { model: "model", key: "apiKey", team: "team", user: undefined } as const;

export function Screen() {
  const [address, setAddress] = useAddress();
  const { data: me } = useQuery(meQuery);
  const { range, from, to, group, metric, isCompared, ...chosen } = readUsageAddress(address);
  const timeZone = chosen.timeZone ?? me?.organization?.timezone ?? "UTC";
  const window = usageWindow({ range, from, to }, { now: Date.now(), timeZone });
  const span = asQuery(window.span, timeZone);
  const usage = useQuery({ ...usageQuery({ ...span, groupBy: group, interval: window.interval }), refetchInterval: 10_000 });
  const whole = useQuery({ ...usageQuery({ ...span, interval: "all" }), refetchInterval: 10_000 });
  const before = useQuery({ ...usageQuery({ ...asQuery(window.previous, timeZone), interval: "all" }), enabled: isCompared });
  const nameOf = useGroupNames(group);
  const filter = FILTERS[group];
  const sums = usage.data && sumByGroup(usage.data.data, nanoOf);
  const named = sums?.map((sum) => ({
    ...sum,
    name: nameOf(sum.group),
    calls: filter && {
      [filter]: sum.group,
      from: window.span.startDate,
      ...(window.span.endDate ? { to: window.span.endDate } : {}),
      tz: timeZone,
    },
  }));
  const totals = usage.data?.meta.totals;
  const earlier = isCompared ? before.data?.meta.totals : undefined;
  const sum = whole.data?.data[0];
  const sumBefore = isCompared ? before.data?.data[0] : undefined;
  const failed = [usage, whole, before].find(({ error }) => error);
  return (
    <Page title="Usage" about="Calls, tokens and cost by model, key, team and user.">
      {failed && <Failure error={failed.error} onRetry={() => void failed.refetch()} />}
      <Group justify="space-between" align="flex-end">
        <WindowPicker {...{ range, from, to, timeZone }} onChange={setAddress} />
        <ResetZoom />
        <Switch
          label="Compare with previous period"
          checked={isCompared}
          onChange={(event) => setAddress({ compare: event.currentTarget.checked ? "on" : undefined })}
        />
      </Group>
      <SimpleGrid cols={{ base: 2, md: 5 }} spacing="sm">
        <Stat name="Cost" value={totals && <Usd amount={totals.costUsd} />} note={<Change now={totals} before={earlier} of="cost" />} />
        <Stat
          name="Requests"
          value={totals && count(totals.requests, "call")}
          note={<Change now={totals} before={earlier} of="requests" />}
        />
        <Stat name="Tokens" value={totals && count(totals.tokens, "token")} note={<Change now={totals} before={earlier} of="tokens" />} />
        <Stat
          name="Errors"
          value={whole.data && errorShare(sum)}
          note={sumBefore ? `was ${errorShare(sumBefore)}` : count(sum?.errors ?? 0, "call")}
        />
        <Stat
          name="Median latency"
          value={whole.data && latencyText(sum?.latencyMsP50)}
          note={sumBefore ? `was ${latencyText(sumBefore.latencyMsP50)}` : `95th percentile ${latencyText(sum?.latencyMsP95)}`}
        />
      </SimpleGrid>
      <ChartCard
        {...{ group, metric, window, timeZone, totals, filter, setAddress }}
        buckets={usage.data?.data}
        groups={named ?? []}
        span={span}
      />
      <Card title={`By ${GROUPS[group].toLowerCase()}`} about={filter ? "select a name to see its calls" : "by owner of the API key"}>
        <GroupTable label={GROUPS[group]} sums={named} />
      </Card>
    </Page>
  );
}

function errorShare(sum: UsageBucket | undefined): string {
  return !sum || sum.requests === 0 ? "no calls" : `${((100 * sum.errors) / sum.requests).toFixed(1)}%`;
}

const latencyText = (ms: number | null | undefined): string => (ms === null || ms === undefined ? "no calls" : formatMs(ms));

function Change({ now, before, of }: { now: Totals | undefined; before: Totals | undefined; of: "cost" | "requests" | "tokens" }) {
  if (!now || !before) return null;
  const was = of === "cost" ? <Usd amount={before.costUsd} /> : before[of].toLocaleString("en-US");
  const percent = before[of] === 0 ? undefined : (100 * (now[of] - before[of])) / before[of];
  return (
    <>
      {percent === undefined ? "new" : `${percent >= 0 ? "+" : "−"}${Math.abs(percent).toFixed(1)}%`}, was {was} in the previous period
    </>
  );
}
