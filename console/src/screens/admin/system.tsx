import { SimpleGrid, Stack, Text, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { type SystemState, systemQuery } from "../../api/admin.ts";
import { type Column, DataTable } from "../../components/data-table.tsx";
import { Failure } from "../../components/failure.tsx";
import { Stat } from "../../components/stat.tsx";
import { StateBadge } from "../../components/state-badge.tsx";
import { ago, count } from "../../format/words.ts";
import { EdgeList } from "./system/edge-list.tsx";
import { LeaseList } from "./system/lease-list.tsx";
import { LedgerCheck } from "./system/ledger-check.tsx";

/** The processes of the platform as they say themselves: who runs, what waits, and who holds whose credit. */
export function System() {
  const { data, error } = useQuery({ ...systemQuery, refetchInterval: 3_000 });
  const queues = data?.controlPlane.queues;
  return (
    <Stack>
      <Failure error={error} />
      <SimpleGrid cols={{ base: 2, md: 4 }} spacing="sm">
        <Stat name="Version" value={data?.version} note={data && `started ${ago(data.startedAt)}`} />
        <Stat name="Store" value={data && STORES[data.controlPlane.store]} note="of the control plane" />
        <Stat
          name="To settle"
          value={queues && count(queues.settlements, "call")}
          note={queues && `${count(queues.reservations, "reservation")} open`}
        />
        <Stat
          name="To send"
          value={queues && count(queues.deliveries, "webhook")}
          note={queues && `${count(queues.notices, "notice")} to sort, ${count(queues.federations, "federation")} to train`}
        />
      </SimpleGrid>
      <Title order={2} size="h6">
        Edges
      </Title>
      <EdgeList edges={data?.edges} />
      <Title order={2} size="h6">
        Credit lent to edges
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
            A node is known here once a federation has it as a participant.
          </Text>
        }
      />
      <Title order={2} size="h6">
        Books
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
    title: "State",
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
  { title: "Seen", cell: ({ seenAt }) => <Text size="sm">{seenAt === null ? "never" : ago(seenAt)}</Text>, isNumber: true },
];
