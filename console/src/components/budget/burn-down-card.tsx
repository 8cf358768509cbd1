import { Group, Progress, Skeleton, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { usageQuery } from "../../api/queries.ts";
import type { ApiKey, Team } from "../../api/types.ts";
import { formatUsd, usdNumber } from "../../format/money.ts";
import { formatTime } from "../../format/text.ts";
import { TimeChart } from "../charts/time-chart.tsx";
import { useChartLinks } from "../charts/use-chart-links.ts";
import { Failure } from "../failure.tsx";
import { bucketKey } from "../time-range.ts";
import { Usd } from "../usd.tsx";
import { type BurnDown as Burned, budgetPeriod, burnDown } from "./burn-down.ts";

type Budgeted = Pick<ApiKey & Team, "maxBudgetUsd" | "budgetSpendUsd" | "budgetPeriod" | "budgetResetsAt" | "createdAt">;

interface BurnDownProps {
  record: Budgeted & { maxBudgetUsd: string };
  /** The filter of its calls, for the usage and for the logs. */
  filter: { readonly usage: Readonly<Record<string, string>>; readonly logs: Readonly<Record<string, string>> };
}

const usd = (value: number): string => formatUsd(value.toFixed(9));

/** How much of a budget is left over its period, and when it ends at the current rate. */
export function BurnDown({ record, filter }: BurnDownProps) {
  const now = Date.now();
  const period = budgetPeriod(record, now);
  const { interval } = period;
  const startDate = new Date(period.startMs).toISOString();
  const { data, error } = useQuery(usageQuery({ ...filter.usage, startDate, tz: "UTC", interval }));
  const { onPick } = useChartLinks({ window: period, timeZone: "UTC", filterOf: () => filter.logs });
  if (error) return <Failure error={error} />;
  if (!data) return <Skeleton height={240} />;
  const spendOf = new Map(data.data.map(({ bucket, costUsd }) => [bucketKey(interval, Date.parse(bucket), "UTC"), usdNumber(costUsd)]));
  const spent = record.budgetSpendUsd ?? "0";
  const [budgetUsd, spentUsd] = [usdNumber(record.maxBudgetUsd), usdNumber(spent)];
  const burned = burnDown({ period, budgetUsd, spentUsd, spendOf, now });
  return (
    <Stack gap="xs">
      <Group justify="space-between">
        <Text size="sm">
          <Usd amount={spent} fw={600} /> of <Usd amount={record.maxBudgetUsd} /> spent
        </Text>
        <Text size="sm" role="status">
          {outlook(burned, record)}
        </Text>
      </Group>
      <Progress
        value={budgetUsd === 0 ? 100 : Math.min(100, (100 * spentUsd) / budgetUsd)}
        color={burned.leftUsd === 0 ? "red" : "river"}
        aria-label="Share of the budget that is spent"
      />
      <TimeChart
        kind="line"
        isMoney
        height={200}
        label={`Budget left per ${interval}, ${usd(burned.leftUsd)} of ${formatUsd(record.maxBudgetUsd)}`}
        data={burned.points}
        series={[
          { name: "left", label: "Left", color: "river.6" },
          { name: "projected", label: "Projected at this rate", color: "orange.6" },
        ]}
        format={usd}
        onPick={onPick}
      />
    </Stack>
  );
}

function outlook({ leftUsd, runsOutAt, leftAtEndUsd }: Burned, { budgetResetsAt }: Budgeted): string {
  const reset = budgetResetsAt === null ? undefined : `${formatTime(budgetResetsAt, "UTC")} UTC`;
  if (leftUsd === 0)
    return reset ? `Used up. Calls are refused until it resets on ${reset}.` : "Used up. Calls are refused until it is raised.";
  if (runsOutAt !== undefined) {
    const end = `At this rate it is used up on ${formatTime(new Date(runsOutAt).toISOString(), "UTC")} UTC`;
    return reset ? `${end}, before it resets on ${reset}.` : `${end}.`;
  }
  return reset && leftAtEndUsd !== undefined
    ? `At this rate ${usd(leftAtEndUsd)} is left when it resets on ${reset}.`
    : "Nothing was spent in the days shown.";
}

export function hasBudget<Record extends Budgeted>(record: Record): record is Record & { maxBudgetUsd: string } {
  return record.maxBudgetUsd !== null;
}
