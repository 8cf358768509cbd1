import { Code, Text } from "@mantine/core";
import { IconHistory } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { auditQuery } from "../../api/admin.ts";
import type { AuditEntry } from "../../api/types.ts";
import { type Column, DataTable, Pages } from "../../components/data-table.tsx";
import { Empty } from "../../components/empty.tsx";
import { Failure } from "../../components/failure.tsx";
import { useAddress } from "../../components/use-address.ts";
import { formatTime } from "../../format/words.ts";

const COLUMNS: Column<AuditEntry>[] = [
  {
    title: "When",
    cell: ({ at }) => (
      <Text size="sm" style={{ whiteSpace: "nowrap" }}>
        {formatTime(at)}
      </Text>
    ),
  },
  { title: "Who", cell: ({ actorId, actorKind }) => <Text size="sm">{actorId === null ? actorKind : `user ${actorId}`}</Text> },
  { title: "What", cell: ({ action }) => <Code>{action}</Code> },
  {
    title: "On",
    cell: ({ target }) => (
      <Text size="xs" ff="monospace" style={{ overflowWrap: "anywhere" }}>
        {target}
      </Text>
    ),
    wideOnly: true,
  },
  {
    title: "Request",
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
        label="Audit"
        columns={COLUMNS}
        rows={data?.data}
        rowKey={({ seq }) => String(seq)}
        empty={<Empty icon={IconHistory} title="Nothing has been changed yet" />}
      />
      <Pages meta={data?.meta} unit="entry" units="entries" onPage={(page) => setAddress({ page })} />
    </>
  );
}
