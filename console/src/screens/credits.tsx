import { Alert, SimpleGrid, Tabs } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { purchasesQuery, quotaQuery } from "../api/queries.ts";
import { Card } from "../components/card.tsx";
import { Failure } from "../components/failure.tsx";
import { Page } from "../components/page.tsx";
import { Stat } from "../components/stat.tsx";
import { Usd } from "../components/usd.tsx";
import { useAddress } from "../components/use-address.ts";
import { formatUsd } from "../format/money.ts";
import { BuyCredits } from "./credits/buy-credits.tsx";
import { Ledger } from "./credits/ledger.tsx";
import { Purchases } from "./credits/purchases.tsx";

export function Screen() {
  const [address, setAddress] = useAddress();
  const quota = useQuery({ ...quotaQuery, refetchInterval: 5_000 });
  const tab = address.tab === "ledger" ? "ledger" : "purchases";
  return (
    <Page title="Credits" about="Paid in advance, spent to the billionth of a dollar. Hover over an amount for the exact figure.">
      {quota.error && <Failure error={quota.error} onRetry={() => void quota.refetch()} />}
      {typeof address.purchase === "string" && <CheckoutNote purchaseId={address.purchase} />}
      <SimpleGrid cols={{ base: 2, md: 4 }} spacing="sm">
        <Stat name="Balance" value={quota.data && <Usd amount={quota.data.balanceUsd} />} note="what is left" />
        <Stat name="Set aside" value={quota.data && <Usd amount={quota.data.reservedUsd} />} note="for calls that run now" />
        <Stat
          name="Bought"
          value={quota.data && <Usd amount={quota.data.totalPurchasedUsd} />}
          note={quota.data && `and ${formatUsd(quota.data.totalGrantedUsd)} granted`}
        />
        <Stat name="Used" value={quota.data && <Usd amount={quota.data.totalUsedUsd} />} note="since the beginning" />
      </SimpleGrid>
      <Card title="Buy credits">
        <BuyCredits methods={quota.data?.paymentMethods} />
      </Card>
      <Card>
        <Tabs value={tab} onChange={(value) => setAddress({ tab: value ?? undefined, page: undefined })} keepMounted={false}>
          <Tabs.List mb="md" className="scrolling-tabs">
            <Tabs.Tab value="purchases">Purchases and receipts</Tabs.Tab>
            <Tabs.Tab value="ledger">Every movement</Tabs.Tab>
          </Tabs.List>
          <Tabs.Panel value="purchases">
            <Purchases />
          </Tabs.Panel>
          <Tabs.Panel value="ledger">
            <Ledger />
          </Tabs.Panel>
        </Tabs>
      </Card>
    </Page>
  );
}

/** After the payment page: the money may arrive a moment later than the browser. */
function CheckoutNote({ purchaseId }: { purchaseId: string }) {
  const { data } = useQuery({ ...purchasesQuery({ pageSize: 20 }), refetchInterval: 2_000 });
  const purchase = data?.data.find(({ id }) => id === purchaseId);
  if (!purchase) return null;
  const words: Record<string, string> = {
    completed: `Thank you. ${formatUsd(purchase.amountUsd)} of credits are in your balance.`,
    pending: "The payment is on its way; this note changes when it arrives.",
    failed: "The payment did not go through. Nothing was charged; try again below.",
    refunded: "This purchase was refunded.",
  };
  return (
    <Alert
      color={purchase.status === "completed" ? "teal" : "yellow"}
      variant="light"
      role="status"
      styles={{ message: { color: "var(--mantine-color-text)" } }}
    >
      {words[purchase.status] ?? purchase.status}
    </Alert>
  );
}
