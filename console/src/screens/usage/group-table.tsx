import { Anchor, Text } from "@mantine/core";
import { IconChartBar } from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";
import { type Column, DataTable } from "../../components/data-table.tsx";
import { Empty } from "../../components/empty.tsx";
import { Usd } from "../../components/usd.tsx";
import { searchOf } from "../../components/use-address.ts";
import { usdOfNano } from "../../format/money.ts";
import { formatMs } from "../../format/text.ts";
import type { GroupSum } from "./metrics.ts";

export interface NamedSum extends GroupSum {
  readonly name: string;
  /** Log filters that select its calls; undefined if the logs have no such filter. */
  readonly calls: Readonly<Record<string, string>> | undefined;
}

export function GroupTable({ label, sums }: { label: string; sums: readonly NamedSum[] | undefined }) {
  const all = sums?.reduce((sum, { costNano }) => sum + costNano, 0n) ?? 0n;
  const columns: Column<NamedSum>[] = [
    {
      title: label,
      cell: ({ name, calls }) =>
        calls ? (
          <Anchor component={Link} to="/logs" search={searchOf(calls)} size="sm" style={{ overflowWrap: "anywhere" }}>
            {name}
          </Anchor>
        ) : (
          <Text size="sm">{name}</Text>
        ),
    },
    { title: "Calls", cell: ({ requests }) => <Text size="sm">{requests.toLocaleString("en-US")}</Text>, isNumber: true },
    { title: "Errors", cell: ({ errors }) => <Text size="sm">{errors.toLocaleString("en-US")}</Text>, isNumber: true, wideOnly: true },
    { title: "Tokens", cell: ({ total }) => <Text size="sm">{total.toLocaleString("en-US")}</Text>, isNumber: true, wideOnly: true },
    { title: "Latency", cell: (sum) => <Text size="sm">{averageLatency(sum)}</Text>, isNumber: true, wideOnly: true },
    { title: "Cost", cell: ({ costNano }) => <Usd amount={usdOfNano(costNano)} size="sm" fw={600} />, isNumber: true },
    { title: "Share", cell: ({ costNano }) => <Text size="sm">{share(costNano, all)}</Text>, isNumber: true, wideOnly: true },
  ];
  return (
    <DataTable
      label={`Usage by ${label.toLowerCase()}`}
      columns={columns}
      rows={sums}
      rowKey={({ group }) => group}
      empty={
        <Empty icon={IconChartBar} title="No calls in this period">
          Choose a longer range, or make a call.
        </Empty>
      }
    />
  );
}

/** The average, because medians of buckets cannot be combined. */
function averageLatency({ latencyMsSum, latencyCount }: GroupSum): string {
  return latencyCount === 0 ? "–" : `${formatMs(latencyMsSum / latencyCount)} on average`;
}

function share(part: bigint, all: bigint): string {
  return all === 0n ? "–" : `${(Number((part * 1000n) / all) / 10).toFixed(1)}%`;
}
