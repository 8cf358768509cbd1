import { Button, Group, Modal, Skeleton, Stack, Table, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { get } from "../../api/client.ts";
import type { LedgerEntry } from "../../api/types.ts";
import { Failure } from "../../components/failure.tsx";
import { Usd } from "../../components/usd.tsx";
import { formatTime } from "../../format/text.ts";

interface ReceiptRecord {
  purchaseId: string;
  organization: { id: string; name: string };
  amountUsd: string;
  returnedUsd: string;
  netUsd: string;
  method: string;
  status: string;
  reference: string | null;
  paidAt: string;
  entries: LedgerEntry[];
}

export function Receipt({ purchaseId, onClose }: { purchaseId: string; onClose: () => void }) {
  const { data, error } = useQuery({
    queryKey: ["receipt", purchaseId],
    queryFn: async ({ signal }) =>
      (await get<{ receipt: ReceiptRecord }>(`/api/credits/purchases/${purchaseId}/receipt`, undefined, signal)).receipt,
  });
  return (
    <Modal opened onClose={onClose} title="Receipt" size="lg" centered>
      <Failure error={error} />
      {!data && !error && <Skeleton height={180} />}
      {data && (
        <Stack>
          <Table variant="vertical" layout="fixed">
            <Table.Tbody>
              <Fact name="Organization">{data.organization.name}</Fact>
              <Fact name="Purchase">{data.purchaseId}</Fact>
              <Fact name="Paid">{`${formatTime(data.paidAt)} by ${data.method}`}</Fact>
              <Fact name="Amount">
                <Usd amount={data.amountUsd} fw={600} />
              </Fact>
              <Fact name="Refunded">
                <Usd amount={data.returnedUsd} />
              </Fact>
              <Fact name="Net">
                <Usd amount={data.netUsd} fw={600} />
              </Fact>
              {data.reference && <Fact name="Reference">{data.reference}</Fact>}
              <Fact name="Ledger entries">{data.entries.map(({ seq, type }) => `${type} #${seq}`).join(", ")}</Fact>
            </Table.Tbody>
          </Table>
          <Group justify="flex-end">
            <Button variant="default" onClick={() => window.print()}>
              Print
            </Button>
          </Group>
        </Stack>
      )}
    </Modal>
  );
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <Table.Tr>
      <Table.Th w={130}>{name}</Table.Th>
      <Table.Td style={{ overflowWrap: "anywhere" }}>
        <Text component="div" size="sm">
          {children}
        </Text>
      </Table.Td>
    </Table.Tr>
  );
}
