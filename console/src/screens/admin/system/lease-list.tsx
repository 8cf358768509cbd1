import { Text } from "@mantine/core";
import type { SystemState } from "../../../api/admin.ts";
import { type Column, DataTable } from "../../../components/data-table.tsx";
import { Usd } from "../../../components/usd.tsx";
import { nanoOf, usdOfNano } from "../../../format/money.ts";
import { count } from "../../../format/words.ts";

type Edge = SystemState["edges"][number];
type Lease = Edge["leases"][number] & { readonly edge: string };

const COLUMNS: Column<Lease>[] = [
  {
    title: "Organisation",
    cell: ({ organizationId, edge }) => (
      <div style={{ minWidth: 110 }}>
        <Text size="xs" ff="monospace" style={{ overflowWrap: "anywhere" }}>
          {organizationId}
        </Text>
        <Text size="xs" c="dimmed" style={{ overflowWrap: "anywhere" }}>
          at {edge}
        </Text>
      </div>
    ),
  },
  { title: "Lent", cell: ({ grantedUsd }) => <Usd amount={grantedUsd} size="sm" />, isNumber: true, wideOnly: true },
  { title: "Spent of it", cell: ({ settledUsd }) => <Usd amount={settledUsd} size="sm" />, isNumber: true, wideOnly: true },
  { title: "Left there", cell: (lease) => <Usd amount={usdOfNano(leftOf(lease))} size="sm" fw={600} />, isNumber: true },
  { title: "Ends", cell: ({ expiresAt }) => <Text size="sm">{endsIn(expiresAt)}</Text>, isNumber: true },
];

/** Credit that edges may spend by themselves, those that hold most first. */
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
          No credit is lent at the moment; the next call borrows some.
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
