import { Text, type TextProps, Tooltip } from "@mantine/core";
import { formatNano, formatUsd } from "../format/money.ts";

/** An amount in USD; hover or focus shows the exact nano-USD. */
export function Usd({ amount, ...text }: { amount: string } & TextProps) {
  return (
    <Tooltip label={formatNano(amount)} events={{ hover: true, focus: true, touch: true }}>
      <Text component="span" className="numbers amount" inherit data-nano={formatNano(amount)} {...text}>
        {formatUsd(amount)}
      </Text>
    </Tooltip>
  );
}
