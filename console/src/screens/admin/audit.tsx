import { Code, Text } from "@mantine/core";
import { IconHistory } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { auditQuery } from "../../api/admin.ts";
import type { AuditEntry } from "../../api/types.ts";
import { type Column, DataTable, Pages } from "../../components/data-table.tsx";
import { Empty } from "../../components/empty.tsx";
import { Failure } from "../../components/failure.tsx";
import { useAddress } from "../../components/use-address.ts";
import { formatTime } from "../../format/text.ts";

const COLUMNS: Column<AuditEntry>[] = [
  {
    title: "Time",
    cell: ({ at }) => (
      <Text size="sm" style={{ whiteSpace: "nowrap" }}>
        {formatTime(at)}
      </Text>
    ),
  },
  { title: "Actor", cell: ({ actorId, actorKind }) => <Text size="sm">{actorId === null ? actorKind : `user ${actorId}`}</Text> },
  { title: "Action", cell: ({ action }) => <Code>{action}</Code> },
  {
    title: "Target",
    cell: ({ target }) => (
      <Text size="xs" ff="monospace" style={{ overflowWrap: "anywhere" }}>
        {target}
      </Text>
    ),
    wideOnly: true,
  },
  {
    title: "Request ID",
    cell: ({ requestId }) => (
      <Text size="xs" ff="monospace" c="dimmed">
        {requestId}
      </Text>
    ),
    wideOnly: true,
  },
];

export function Audit() {
  const [address, setAddress] = useAddress();
  const { data, error } = useQuery(auditQuery({ page: Number(address.page ?? 1), pageSize: 20 }));
  return (
    <>
      <Failure error={error} />
      <DataTable
        label="Audit log"
        columns={COLUMNS}
        rows={data?.data}
        rowKey={({ seq }) => String(seq)}
        empty={<Empty icon={IconHistory} title="No audit entries yet" />}
      />
      <Pages meta={data?.meta} unit="entry" units="entries" onPage={(page) => setAddress({ page })} />
    </>
  );
}
