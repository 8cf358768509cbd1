import { SimpleGrid, Stack, Text, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { type SystemState, systemQuery } from "../../api/admin.ts";
import { type Column, DataTable } from "../../components/data-table.tsx";
import { Failure } from "../../components/failure.tsx";
import { Stat } from "../../components/stat.tsx";
import { StateBadge } from "../../components/state-badge.tsx";
import { ago, count } from "../../format/text.ts";
import { EdgeList } from "./system/edge-list.tsx";
import { LeaseList } from "./system/lease-list.tsx";
import { LedgerCheck } from "./system/ledger-check.tsx";

/** Status that the processes report: versions, queues, edges and their credit leases. */
export function System() {
  const { data, error } = useQuery({ ...systemQuery, refetchInterval: 3_000 });
  const queues = data?.controlPlane.queues;
  return (
    <Stack>
      <Failure error={error} />
      <SimpleGrid cols={{ base: 2, md: 4 }} spacing="sm">
        <Stat name="Version" value={data?.version} note={data && `started ${ago(data.startedAt)}`} />
        <Stat name="Store" value={data && STORES[data.controlPlane.store]} note="control plane" />
        <Stat
          name="Pending settlements"
          value={queues && count(queues.settlements, "call")}
          note={queues && `${count(queues.reservations, "open reservation")}`}
        />
        <Stat
          name="Pending deliveries"
          value={queues && count(queues.deliveries, "webhook")}
          note={queues && `${count(queues.notices, "notice")} and ${count(queues.federations, "federation")} queued`}
        />
      </SimpleGrid>
      <Title order={2} size="h6">
        Edges
      </Title>
      <EdgeList edges={data?.edges} />
      <Title order={2} size="h6">
        Credit leases
      </Title>
      {data && <LeaseList edges={data.edges} />}
      <Title order={2} size="h6">
        Trainer nodes
      </Title>
      <DataTable
        label="Trainer nodes"
        columns={TRAINERS}
        rows={data?.trainers}
        rowKey={({ id }) => id}
        empty={
          <Text size="sm" c="dimmed">
            Nodes appear here once they participate in a federation.
          </Text>
        }
      />
      <Title order={2} size="h6">
        Ledger
      </Title>
      <LedgerCheck />
    </Stack>
  );
}

const STORES = { embedded: "embedded", mongodb: "MongoDB" } as const;

const TRAINERS: Column<SystemState["trainers"][number]>[] = [
  {
    title: "Node",
    cell: ({ name, url }) => (
      <div style={{ minWidth: 120 }}>
        <Text size="sm" fw={600} style={{ overflowWrap: "anywhere" }}>
          {name || url}
        </Text>
        {name !== "" && (
          <Text size="xs" c="dimmed" style={{ overflowWrap: "anywhere" }}>
            {url}
          </Text>
        )}
      </div>
    ),
  },
  {
    title: "Status",
    cell: ({ status, lastError }) => (
      <div>
        <StateBadge state={status} />
        {lastError !== null && (
          <Text size="xs" c="dimmed" style={{ overflowWrap: "anywhere" }}>
            {lastError}
          </Text>
        )}
      </div>
    ),
  },
  {
    title: "Updates",
    cell: ({ updates, failures }) => (
      <Text size="sm">
        {count(updates, "update")}, {count(failures, "failure")}
      </Text>
    ),
    isNumber: true,
    wideOnly: true,
  },
  { title: "Last seen", cell: ({ seenAt }) => <Text size="sm">{seenAt === null ? "never" : ago(seenAt)}</Text>, isNumber: true },
];
