import { Text } from "@mantine/core";
import { IconServer2 } from "@tabler/icons-react";
import type { SystemState } from "../../../api/admin.ts";
import { type Column, DataTable } from "../../../components/data-table.tsx";
import { Empty } from "../../../components/empty.tsx";
import { StateBadge } from "../../../components/state-badge.tsx";
import { ago, count, formatBytes } from "../../../format/text.ts";

type Edge = SystemState["edges"][number];

const COLUMNS: Column<Edge>[] = [
  {
    title: "Edge",
    cell: ({ id, version, startedAt }) => (
      <div style={{ minWidth: 110 }}>
        <Text size="sm" fw={600} style={{ overflowWrap: "anywhere" }}>
          {id}
        </Text>
        <Text size="xs" c="dimmed">
          {version === null ? "version unknown" : `version ${version}`}
          {startedAt !== null && `, started ${ago(startedAt)}`}
        </Text>
      </div>
    ),
  },
  {
    title: "Status",
    cell: ({ status, trouble, seenAt }) => (
      <div>
        <StateBadge state={status} />
        <Text size="xs" c="dimmed">
          {trouble ?? (seenAt === null ? "never seen" : `last seen ${ago(seenAt)}`)}
        </Text>
      </div>
    ),
  },
  {
    title: "In flight",
    cell: ({ inFlight }) => <Text size="sm">{inFlight === null ? "unknown" : count(inFlight, "call")}</Text>,
    isNumber: true,
    wideOnly: true,
  },
  {
    title: "Journal",
    cell: ({ journal }) =>
      journal === null ? (
        <Text size="sm">unknown</Text>
      ) : (
        <div>
          <Text size="sm">
            {count(journal.records, "record")}, {formatBytes(journal.bytes)}
          </Text>
          <Text size="xs" c={journal.unshipped > 0 ? "var(--mantine-color-text)" : "dimmed"}>
            {journal.unshipped === 0 ? "all settled" : `${count(journal.unshipped, "call")} not settled yet`}
            {journal.oldestUnshippedAt !== null && `, oldest ${ago(journal.oldestUnshippedAt)}`}
          </Text>
        </div>
      ),
    isNumber: true,
    wideOnly: true,
  },
  { title: "Leases", cell: ({ leaseCount }) => <Text size="sm">{count(leaseCount, "lease")}</Text>, isNumber: true },
];

/** Every edge known to the control plane, with its last report. */
export function EdgeList({ edges }: { edges: readonly Edge[] | undefined }) {
  return (
    <DataTable
      label="Edges"
      columns={COLUMNS}
      rows={edges}
      rowKey={({ id }) => id}
      empty={<Empty icon={IconServer2} title="No edge has reported yet" />}
    />
  );
}
