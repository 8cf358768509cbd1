import { Alert, Button, Group, Text } from "@mantine/core";
import { IconBan } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { quotaQuery } from "../api/queries.ts";
import { Usd } from "../components/usd.tsx";
import { useBuy } from "../components/use-buy.ts";
import { nanoOf } from "../format/money.ts";

const ONE_CLICK_USD = "10.00";

/** Shown on every screen while calls are rejected for lack of credits, with a one-click purchase. */
export function BlockedBanner() {
  const { data: quota } = useQuery({ ...quotaQuery, refetchInterval: 10_000 });
  const { buy, isBuying } = useBuy();
  if (!quota) return null;
  const isBlocked = quota.status === "blocked";
  // An organization that has never bought credits gets no warning; Getting started shows the next step.
  const isUsedUp = !isBlocked && nanoOf(quota.balanceUsd) === 0n && nanoOf(quota.totalUsedUsd) > 0n;
  if (!isBlocked && !isUsedUp) return null;
  const method = quota.paymentMethods.includes("test") ? "test" : "card";
  return (
    <Alert
      color="red"
      variant="light"
      icon={<IconBan aria-hidden />}
      mb="lg"
      role="alert"
      data-testid="blocked-banner"
      styles={{ message: { color: "inherit" } }}
    >
      <Group justify="space-between">
        <div>
          <Text fw={600}>{isBlocked ? "Your teams are blocked" : "Your credits are used up"}</Text>
          <Text size="sm">
            The balance is <Usd amount={quota.balanceUsd} fw={600} />. Calls are rejected until you buy credits and work again within a
            second of the purchase.
          </Text>
        </div>
        <Group gap="xs">
          <Button component={Link} to="/credits" variant="default" size="sm">
            Other amounts
          </Button>
          {quota.paymentMethods.length > 0 && (
            <Button color="red" size="sm" loading={isBuying} onClick={() => buy({ amountUsd: ONE_CLICK_USD, method })}>
              Buy $10.00
            </Button>
          )}
        </Group>
      </Group>
    </Alert>
  );
}
