import { Select, Text } from "@mantine/core";
import { IconListNumbers } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { ledgerQuery } from "../../api/queries.ts";
import type { LedgerEntry } from "../../api/types.ts";
import { type Column, DataTable, Pages } from "../../components/data-table.tsx";
import { Empty } from "../../components/empty.tsx";
import { Failure } from "../../components/failure.tsx";
import { Usd } from "../../components/usd.tsx";
import { useAddress } from "../../components/use-address.ts";
import { formatTime } from "../../format/text.ts";

const PAGE_SIZE = 20;
const TYPES = ["purchase", "grant", "usage", "reward", "adjustment", "refund"];

const COLUMNS: Column<LedgerEntry>[] = [
  { title: "Entry", cell: ({ seq }) => <Text size="sm">#{seq}</Text>, wideOnly: true },
  {
    title: "Time",
    cell: ({ createdAt }) => (
      <Text size="sm" style={{ whiteSpace: "nowrap" }}>
        {formatTime(createdAt)}
      </Text>
    ),
  },
  { title: "Type", cell: ({ type }) => <Text size="sm">{type}</Text> },
  { title: "Amount", cell: ({ amountUsd }) => <Usd amount={amountUsd} size="sm" fw={600} />, isNumber: true },
  { title: "Balance after", cell: ({ balanceAfterUsd }) => <Usd amount={balanceAfterUsd} size="sm" />, isNumber: true },
  {
    title: "Reference",
    cell: ({ callId, purchaseId, reference }) => (
      <Text size="xs" c="dimmed" ff="monospace">
        {callId ?? purchaseId ?? reference ?? "–"}
      </Text>
    ),
    wideOnly: true,
  },
];

export function Ledger() {
  const [address, setAddress] = useAddress();
  const type = TYPES.find((name) => name === address.type) ?? null;
  const { data, error } = useQuery({
    ...ledgerQuery({ page: Number(address.page ?? 1), pageSize: PAGE_SIZE, type }),
    refetchInterval: 5_000,
  });
  return (
    <>
      <Failure error={error} />
      <Select
        aria-label="Type"
        placeholder="All types"
        data={TYPES}
        value={type}
        clearable
        clearButtonProps={{ "aria-label": "All types" }}
        onChange={(value) => setAddress({ type: value ?? undefined, page: undefined })}
        maw={220}
        mb="sm"
      />
      <DataTable
        label="Ledger entries"
        columns={COLUMNS}
        rows={data?.data}
        rowKey={({ seq }) => String(seq)}
        empty={
          <Empty icon={IconListNumbers} title="No ledger entries yet">
            Every purchase, grant and call is one entry. Their sum is your balance.
          </Empty>
        }
      />
      <Pages meta={data?.meta} unit="entry" units="entries" onPage={(page) => setAddress({ page })} />
    </>
  );
}
