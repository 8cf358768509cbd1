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
    <Page title="Credits" about="Prepaid credits, billed per call in nano-USD. Hover over an amount for the exact value.">
      {quota.error && <Failure error={quota.error} onRetry={() => void quota.refetch()} />}
      {typeof address.purchase === "string" && <CheckoutNote purchaseId={address.purchase} />}
      <SimpleGrid cols={{ base: 2, md: 4 }} spacing="sm">
        <Stat name="Balance" value={quota.data && <Usd amount={quota.data.balanceUsd} />} note="remaining credits" />
        <Stat name="Reserved" value={quota.data && <Usd amount={quota.data.reservedUsd} />} note="for calls in flight" />
        <Stat
          name="Purchased"
          value={quota.data && <Usd amount={quota.data.totalPurchasedUsd} />}
          note={quota.data && `plus ${formatUsd(quota.data.totalGrantedUsd)} granted`}
        />
        <Stat name="Used" value={quota.data && <Usd amount={quota.data.totalUsedUsd} />} note="all time" />
      </SimpleGrid>
      <Card title="Buy credits">
        <BuyCredits methods={quota.data?.paymentMethods} />
      </Card>
      <Card>
        <Tabs value={tab} onChange={(value) => setAddress({ tab: value ?? undefined, page: undefined })} keepMounted={false}>
          <Tabs.List mb="md" className="scrolling-tabs">
            <Tabs.Tab value="purchases">Purchases and receipts</Tabs.Tab>
            <Tabs.Tab value="ledger">Ledger</Tabs.Tab>
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

/** Status after the payment page, because the payment may arrive later than the browser. */
function CheckoutNote({ purchaseId }: { purchaseId: string }) {
  const { data } = useQuery({ ...purchasesQuery({ pageSize: 20 }), refetchInterval: 2_000 });
  const purchase = data?.data.find(({ id }) => id === purchaseId);
  if (!purchase) return null;
  const words: Record<string, string> = {
    completed: `Thank you. ${formatUsd(purchase.amountUsd)} in credits was added to your balance.`,
    pending: "The payment is being processed. This message updates automatically.",
    failed: "The payment failed. You were not charged. Try again below.",
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
