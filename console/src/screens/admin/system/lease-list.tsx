import { Text } from "@mantine/core";
import type { SystemState } from "../../../api/admin.ts";
import { type Column, DataTable } from "../../../components/data-table.tsx";
import { Usd } from "../../../components/usd.tsx";
import { nanoOf, usdOfNano } from "../../../format/money.ts";
import { count } from "../../../format/text.ts";

type Edge = SystemState["edges"][number];
type Lease = Edge["leases"][number] & { readonly edge: string };

const COLUMNS: Column<Lease>[] = [
  {
    title: "Organization",
    cell: ({ organizationId, edge }) => (
      <div style={{ minWidth: 110 }}>
        <Text size="xs" ff="monospace" style={{ overflowWrap: "anywhere" }}>
          {organizationId}
        </Text>
        <Text size="xs" c="dimmed" style={{ overflowWrap: "anywhere" }}>
          edge {edge}
        </Text>
      </div>
    ),
  },
  { title: "Granted", cell: ({ grantedUsd }) => <Usd amount={grantedUsd} size="sm" />, isNumber: true, wideOnly: true },
  { title: "Settled", cell: ({ settledUsd }) => <Usd amount={settledUsd} size="sm" />, isNumber: true, wideOnly: true },
  { title: "Remaining", cell: (lease) => <Usd amount={usdOfNano(leftOf(lease))} size="sm" fw={600} />, isNumber: true },
  { title: "Expires", cell: ({ expiresAt }) => <Text size="sm">{endsIn(expiresAt)}</Text>, isNumber: true },
];

/** Credit leases of all edges. */
export function LeaseList({ edges }: { edges: readonly Edge[] }) {
  const leases = edges.flatMap(({ id, leases: own }) => own.map((lease) => ({ ...lease, edge: id })));
  return (
    <DataTable
      label="Leases"
      columns={COLUMNS}
      rows={leases}
      rowKey={({ edge, organizationId }) => `${edge}/${organizationId}`}
      empty={
        <Text size="sm" c="dimmed">
          No active leases. The next call opens one.
        </Text>
      }
    />
  );
}

const leftOf = ({ grantedUsd, settledUsd, releasedUsd }: Lease): bigint => nanoOf(grantedUsd) - nanoOf(settledUsd) - nanoOf(releasedUsd);

function endsIn(iso: string): string {
  const seconds = Math.ceil((Date.parse(iso) - Date.now()) / 1000);
  return seconds <= 0 ? "now" : `in ${count(seconds, "second")}`;
}
