import { Anchor, Progress, Text } from "@mantine/core";
import { IconTopologyStar3 } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { federationsQuery } from "../../api/training.ts";
import type { Federation } from "../../api/types.ts";
import { type Column, DataTable, Pages } from "../../components/data-table.tsx";
import { Empty } from "../../components/empty.tsx";
import { Failure } from "../../components/failure.tsx";
import { StateBadge } from "../../components/state-badge.tsx";
import { useAddress } from "../../components/use-address.ts";
import { ago } from "../../format/text.ts";
import { percentOf, statusLine } from "./federation-status.ts";

const LIVE_MS = 3_000;

const COLUMNS: Column<Federation>[] = [
  {
    title: "Federation",
    cell: ({ id, name }) => (
      <Anchor component={Link} to={`/training/${id}`} size="sm" fw={600} style={{ overflowWrap: "anywhere" }}>
        {name}
      </Anchor>
    ),
  },
  { title: "Status", cell: ({ state }) => <StateBadge state={state} /> },
  {
    title: "Rounds",
    cell: (federation) => (
      <div style={{ minWidth: 110 }}>
        <Progress
          value={(100 * (federation.head?.round ?? 0)) / federation.rounds}
          size="xs"
          aria-label={`Committed rounds of ${federation.name}`}
        />
        <Text size="xs" c="dimmed" mt={2}>
          {statusLine(federation)}
        </Text>
      </div>
    ),
  },
  { title: "Accuracy", cell: ({ head }) => <Text size="sm">{percentOf(head?.accuracy)}</Text>, isNumber: true, wideOnly: true },
  { title: "Participants", cell: ({ participants }) => <Text size="sm">{participants.length}</Text>, isNumber: true, wideOnly: true },
  { title: "Created", cell: ({ createdAt }) => <Text size="sm">{ago(createdAt)}</Text>, wideOnly: true },
];

export function FederationList({ action }: { action: ReactNode }) {
  const [address, setAddress] = useAddress();
  const { data, error, refetch } = useQuery({ ...federationsQuery(Number(address.page ?? 1)), refetchInterval: LIVE_MS });
  return (
    <>
      {error && <Failure error={error} onRetry={() => void refetch()} />}
      <DataTable
        label="Federations"
        columns={COLUMNS}
        rows={data?.data}
        rowKey={({ id }) => id}
        empty={
          <Empty icon={IconTopologyStar3} title="No federations yet" action={action}>
            Trainer nodes of several teams or organizations train one model together. Their data stays local.
          </Empty>
        }
      />
      <Pages meta={data?.meta} unit="federation" onPage={(page) => setAddress({ page })} />
    </>
  );
}
