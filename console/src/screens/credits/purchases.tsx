import { Anchor, Button, Text } from "@mantine/core";
import { IconReceipt } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { purchasesQuery } from "../../api/queries.ts";
import type { Purchase } from "../../api/types.ts";
import { type Column, DataTable, Pages } from "../../components/data-table.tsx";
import { Empty } from "../../components/empty.tsx";
import { Failure } from "../../components/failure.tsx";
import { StateBadge } from "../../components/state-badge.tsx";
import { Usd } from "../../components/usd.tsx";
import { useAddress } from "../../components/use-address.ts";
import { formatTime } from "../../format/text.ts";
import { Receipt } from "./receipt.tsx";

const PAGE_SIZE = 20;

export function Purchases() {
  const [address, setAddress] = useAddress();
  const { data, error } = useQuery(purchasesQuery({ page: Number(address.page ?? 1), pageSize: PAGE_SIZE }));
  const [shown, setShown] = useState<string>();
  const columns: Column<Purchase>[] = [
    {
      title: "Time",
      cell: ({ createdAt }) => (
        <Text size="sm" style={{ whiteSpace: "nowrap" }}>
          {formatTime(createdAt)}
        </Text>
      ),
    },
    { title: "Amount", cell: ({ amountUsd }) => <Usd amount={amountUsd} size="sm" fw={600} />, isNumber: true },
    { title: "Method", cell: ({ method }) => <Text size="sm">{method}</Text>, wideOnly: true },
    { title: "Status", cell: ({ status }) => <StateBadge state={status} /> },
    {
      title: "Receipt",
      isNumber: true,
      cell: ({ id, completedAt, checkoutUrl, status }) => {
        if (completedAt) {
          return (
            <Button size="compact-sm" variant="subtle" onClick={() => setShown(id)} aria-label={`Receipt of ${id}`}>
              Receipt
            </Button>
          );
        }
        return status === "pending" && checkoutUrl ? (
          <Anchor href={checkoutUrl} size="sm">
            Pay
          </Anchor>
        ) : (
          "–"
        );
      },
    },
  ];
  return (
    <>
      <Failure error={error} />
      <DataTable
        label="Purchases"
        columns={columns}
        rows={data?.data}
        rowKey={({ id }) => id}
        empty={
          <Empty icon={IconReceipt} title="No purchases yet">
            Your purchases and receipts appear here.
          </Empty>
        }
      />
      <Pages meta={data?.meta} unit="purchase" onPage={(page) => setAddress({ page })} />
      {shown && <Receipt purchaseId={shown} onClose={() => setShown(undefined)} />}
    </>
  );
}
