import { Button, Text } from "@mantine/core";
import { IconServer2 } from "@tabler/icons-react";
import { useMutation, useQuery } from "@tanstack/react-query";
import { get } from "../../api/client.ts";
import { nodesQuery } from "../../api/training.ts";
import type { TrainerNode } from "../../api/types.ts";
import { type Column, DataTable } from "../../components/data-table.tsx";
import { Empty } from "../../components/empty.tsx";
import { Failure, notifyFailure } from "../../components/failure.tsx";
import { StateBadge } from "../../components/state-badge.tsx";
import { ago, formatMs } from "../../format/text.ts";

const COLUMNS: Column<TrainerNode>[] = [
  {
    title: "Node",
    cell: ({ name, url }) => (
      <div>
        <Text size="sm" fw={600} style={{ overflowWrap: "anywhere" }}>
          {name || url}
        </Text>
        <Text size="xs" c="dimmed" style={{ overflowWrap: "anywhere" }}>
          {url}
        </Text>
      </div>
    ),
  },
  { title: "Status", cell: ({ status }) => <StateBadge state={status} /> },
  { title: "Updates", cell: ({ updates }) => <Text size="sm">{updates.toLocaleString("en-US")}</Text>, isNumber: true },
  {
    title: "Failures",
    cell: ({ failures, lastError }) => (
      <Text size="sm" title={lastError ?? undefined}>
        {failures.toLocaleString("en-US")}
      </Text>
    ),
    isNumber: true,
    wideOnly: true,
  },
  { title: "Training time", cell: ({ trainMs }) => <Text size="sm">{formatMs(trainMs)}</Text>, isNumber: true, wideOnly: true },
  { title: "Last seen", cell: ({ lastSeenAt }) => <Text size="sm">{lastSeenAt ? ago(lastSeenAt) : "never"}</Text>, wideOnly: true },
  { title: "Health", cell: (node) => <HealthCheck node={node} />, isNumber: true },
];

export function NodeList() {
  const { data, error, refetch } = useQuery({ ...nodesQuery, refetchInterval: 5_000 });
  return (
    <>
      {error && <Failure error={error} onRetry={() => void refetch()} />}
      <DataTable
        label="Trainer nodes"
        columns={COLUMNS}
        rows={data?.data}
        rowKey={({ id }) => id}
        empty={
          <Empty icon={IconServer2} title="No trainer nodes yet">
            Nodes appear here once they participate in a federation.
          </Empty>
        }
      />
    </>
  );
}

function HealthCheck({ node }: { node: TrainerNode }) {
  const { mutate, data, isPending } = useMutation({
    mutationFn: () =>
      get<{ reachable: boolean; latencyMs: number; error: string | null }>(`/training/nodes/${encodeURIComponent(node.id)}/health`),
    onError: notifyFailure,
  });
  return (
    <>
      <Button
        size="compact-xs"
        variant="default"
        loading={isPending}
        onClick={() => mutate()}
        aria-label={`Check ${node.name || node.url}`}
      >
        Check
      </Button>
      {data && (
        <Text size="xs" role="status">
          {data.reachable ? `responds in ${formatMs(data.latencyMs)}` : data.error}
        </Text>
      )}
    </>
  );
}
