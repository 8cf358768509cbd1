import { Button } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { quotaQuery } from "../api/queries.ts";
import { formatUsd } from "../format/money.ts";

/** The credits of the active organization, in the header of every screen. */
export function HeaderBalance() {
  const { data: quota } = useQuery(quotaQuery);
  if (!quota) return null;
  const isLow = quota.balanceUsd.startsWith("-") || Number(quota.balanceUsd) === 0;
  const balance = formatUsd(quota.balanceUsd);
  return (
    <Button
      component={Link}
      to="/credits"
      variant="subtle"
      color={isLow ? "red" : "gray"}
      size="compact-sm"
      visibleFrom="sm"
      className="numbers"
      aria-label={`Balance ${balance}`}
    >
      {balance}
    </Button>
  );
}
