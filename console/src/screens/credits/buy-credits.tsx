import { Alert, Button, Group, SegmentedControl, Skeleton, Stack, TextInput } from "@mantine/core";
import { useState } from "react";
import { useBuy } from "../../components/use-buy.ts";
import { formatUsd, readUsd } from "../../format/money.ts";

const AMOUNTS = ["5.00", "10.00", "50.00", "100.00"];
const METHOD_NAMES: Readonly<Record<string, string>> = { test: "Test credits (free)", card: "Card" };

export function BuyCredits({ methods }: { methods: readonly string[] | undefined }) {
  const [amount, setAmount] = useState("10.00");
  const [chosen, setChosen] = useState<string>();
  const { buy, isBuying } = useBuy();
  if (!methods) return <Skeleton height={90} />;
  const method = chosen ?? methods[0];
  if (method === undefined) {
    return (
      <Alert color="yellow" variant="light" styles={{ message: { color: "var(--mantine-color-text)" } }}>
        This server does not accept payments. Ask your administrator for credits.
      </Alert>
    );
  }
  const usd = readUsd(amount);
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (usd !== undefined) buy({ amountUsd: usd, method });
      }}
    >
      <Stack gap="sm">
        <Group gap="xs">
          {AMOUNTS.map((value) => (
            <Button
              key={value}
              size="sm"
              variant={value === amount ? "light" : "default"}
              aria-pressed={value === amount}
              onClick={() => setAmount(value)}
            >
              {formatUsd(value)}
            </Button>
          ))}
        </Group>
        <Group align="flex-end">
          <TextInput
            label="Amount (USD)"
            leftSection="$"
            inputMode="decimal"
            value={amount}
            onChange={(event) => setAmount(event.currentTarget.value)}
            error={usd === undefined ? "Enter an amount, such as 12.50." : undefined}
            w={150}
          />
          {methods.length > 1 && (
            <SegmentedControl
              aria-label="Payment method"
              value={method}
              onChange={setChosen}
              data={methods.map((value) => ({ value, label: METHOD_NAMES[value] ?? value }))}
            />
          )}
          <Button type="submit" disabled={usd === undefined} loading={isBuying}>
            {method === "card" ? "Continue to payment" : "Get test credits"}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
