import { Table } from "@mantine/core";
import type { SignedReceipt, UsageLog } from "../../api/types.ts";
import { Usd } from "../../components/usd.tsx";
import { usdOf } from "../../format/money.ts";
import { count } from "../../format/text.ts";
import { priceLines } from "./price-lines.ts";

/** Usage, price and cost per line. */
export function PriceTable({ log, signed }: { log: UsageLog; signed: SignedReceipt | undefined }) {
  const lines = priceLines(log, signed);
  if (lines.length === 0) return "No usage, no charge.";
  return (
    <Table withRowBorders={false} verticalSpacing={2} horizontalSpacing={6} aria-label="Price lines" fz="sm">
      <Table.Tbody>
        {lines.map(({ title, amount, unit, price, costUsd }) => (
          <Table.Tr key={`${title} ${unit}`}>
            <Table.Td pl={0}>{title}</Table.Td>
            <Table.Td ta="right" className="numbers">
              {unit === "" ? amount.toLocaleString("en-US") : count(amount, unit)}
            </Table.Td>
            <Table.Td ta="right" className="numbers">
              {price !== undefined && (
                <>
                  × <Usd amount={usdOf(price)} /> / 1M
                </>
              )}
            </Table.Td>
            <Table.Td ta="right" pr={0} className="numbers">
              {costUsd}
            </Table.Td>
          </Table.Tr>
        ))}
        <Table.Tr>
          <Table.Td colSpan={4} px={0}>
            {footnote(
              log,
              lines.some(({ costUsd }) => costUsd !== undefined),
            )}
          </Table.Td>
        </Table.Tr>
      </Table.Tbody>
    </Table>
  );
}

function footnote({ cacheHit, priceVersion }: UsageLog, isExact: boolean): string {
  if (cacheHit) return "Cache hit, no charge.";
  return `Price version ${priceVersion}${isExact ? ". Lines are exact; the sum is rounded up once" : ""}.`;
}
