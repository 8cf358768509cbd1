import { toUsdString } from "../../common/money.ts";

// Reports of the ledger from responses of the admin API, parsed with `fromJson`.

export interface Verified {
  ok: boolean;
  entries: bigint;
  sum: bigint;
  lastSeq: bigint;
  hash: string;
  anchors: bigint;
  accounts: bigint;
  usageRows: bigint;
  rollups: bigint;
  firstBad: { seq: bigint; reason: string; kind: string; record: string } | null;
}

export interface ReplayPage {
  asOf: string;
  withPrices: string | null;
  data: readonly ReplayedOrganization[];
  meta: { totalPages: bigint };
  rollups: { equal: boolean; firstDifference: { reason: string } | null };
}

interface ReplayedOrganization {
  organizationId: string;
  name: string;
  balance: bigint;
  entries: bigint;
  repricing: { charged: bigint; repriced: bigint; difference: bigint; repricedCalls: bigint; keptCalls: bigint } | null;
}

export interface Report {
  readonly ok: boolean;
  readonly lines: readonly string[];
}

export function verifyReport(verified: Verified): Report {
  const { ok, entries, accounts, usageRows, rollups, sum, lastSeq, hash, anchors, firstBad } = verified;
  const lines = [
    `read: ${entries} entries, ${accounts} accounts, ${usageRows} calls, ${rollups} roll-ups`,
    `sum of all accounts: ${sum} (must be 0)`,
    `last entry: ${lastSeq}; anchors: ${anchors}, hash of the newest ${hash}`,
  ];
  if (firstBad) lines.push(`FIRST INVALID RECORD: ${firstBad.record} (${firstBad.kind}): ${firstBad.reason}`);
  return { ok, lines: [...lines, ok ? "the ledger is valid" : "THE LEDGER IS NOT VALID"] };
}

export function replayReport(pages: readonly ReplayPage[]): Report {
  const organizations = pages.flatMap(({ data }) => data);
  const [first] = pages;
  const balance = organizations.reduce((total, organization) => total + organization.balance, 0n);
  const difference = pages.map(({ rollups }) => rollups.firstDifference).find((found) => found !== null);
  const lines = [
    `balances as of ${first?.asOf ?? "now"}, computed from ledger entries`,
    ...organizations.flatMap(describe),
    `${organizations.length} organizations, total ${toUsdString(balance)} USD`,
  ];
  if (first?.withPrices) lines.push(totalDifference(organizations, first.withPrices));
  lines.push(difference ? `ROLL-UPS DIFFER: ${difference.reason}` : "roll-ups match the usage rows");
  return { ok: !difference, lines };
}

function describe({ organizationId, name, balance, entries, repricing }: ReplayedOrganization): string[] {
  const line = `  ${organizationId}  ${toUsdString(balance).padStart(16)} USD  ${entries} entries  ${name}`;
  if (!repricing) return [line];
  const { charged, repriced, difference, repricedCalls, keptCalls } = repricing;
  const amounts = `charged ${toUsdString(charged)}, repriced ${toUsdString(repriced)}: ${signed(difference)} USD`;
  return [line, `    ${amounts} (${repricedCalls} calls repriced, ${keptCalls} unchanged)`];
}

function totalDifference(organizations: readonly ReplayedOrganization[], withPrices: string): string {
  const total = organizations.reduce((sum, { repricing }) => sum + (repricing?.difference ?? 0n), 0n);
  return `with the prices of ${withPrices}: ${signed(total)} USD`;
}

function signed(amount: bigint): string {
  return `${amount > 0n ? "+" : ""}${toUsdString(amount)}`;
}
