import { Group, SegmentedControl, Stack, Text } from "@mantine/core";
import type { Query } from "../../api/client.ts";
import type { Totals, UsageBucket } from "../../api/types.ts";
import { Card } from "../../components/card.tsx";
import type { UsageWindow } from "../../components/usage-window.ts";
import { Usd } from "../../components/usd.tsx";
import { count } from "../../format/text.ts";
import { ExportCsv } from "./export-csv.tsx";
import { LatencyChart } from "./latency-chart.tsx";
import { GROUPS, METRICS } from "./metrics.ts";
import { StackedChart } from "./stacked-chart.tsx";
import type { UsageAddress } from "./usage-address.ts";

interface ChartCardProps extends Pick<UsageAddress, "group" | "metric"> {
  window: UsageWindow;
  timeZone: string;
  totals: Totals | undefined;
  buckets: readonly UsageBucket[] | undefined;
  groups: readonly { group: string; name: string }[];
  span: Query;
  filter: string | undefined;
  setAddress: (change: Record<string, string>) => void;
}

const CHOICES = [...Object.entries(METRICS).map(([value, { label }]) => ({ value, label })), { value: "latency", label: "Latency" }];

/** The chart with its totals and the CSV export of the same calls. */
export function ChartCard({ group, metric, window, timeZone, totals, buckets, groups, span, filter, setAddress }: ChartCardProps) {
  return (
    <Card
      title={metric === "latency" ? "Latency" : METRICS[metric].label}
      about={
        metric === "latency"
          ? `median milliseconds per ${window.interval}, ${timeZone}`
          : `${METRICS[metric].unit} per ${window.interval}, ${timeZone}`
      }
      action={
        <SegmentedControl
          aria-label="Group by"
          size="xs"
          value={group}
          onChange={(value) => setAddress({ by: value })}
          data={Object.entries(GROUPS).map(([value, label]) => ({ value, label }))}
        />
      }
    >
      <Stack gap="sm">
        <div style={{ overflowX: "auto" }}>
          <SegmentedControl
            aria-label="Metric"
            size="xs"
            value={metric}
            onChange={(value) => setAddress({ metric: value })}
            data={CHOICES}
          />
        </div>
        {metric === "latency" ? (
          <LatencyChart {...{ buckets, groups, window, timeZone, filter }} />
        ) : (
          <StackedChart {...{ buckets, groups, window, timeZone, filter }} metric={METRICS[metric]} />
        )}
        <Group justify="space-between">
          {totals && (
            <Text size="sm">
              The chart has {count(totals.requests, "call")} for <Usd amount={totals.costUsd} fw={600} />
            </Text>
          )}
          <ExportCsv query={span} chartUsd={totals?.costUsd} fileName={`usage-${window.span.startDate.slice(0, 10)}.csv`} />
        </Group>
      </Stack>
    </Card>
  );
}
