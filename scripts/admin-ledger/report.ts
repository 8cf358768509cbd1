import { toUsdString } from "../../common/money.ts";

// Answers of the admin API about the ledger, as `fromJson` reads them, in words.

export interface Verified {
  ok: boolean;
  entries: bigint;
  sum: bigint;
  lastSeq: bigint;
  hash: string;
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
  const { ok, entries, accounts, usageRows, rollups, sum, lastSeq, hash, firstBad } = verified;
  const lines = [
    `read: ${entries} entries, ${accounts} accounts, ${usageRows} calls, ${rollups} roll-ups`,
    `sum of all accounts: ${sum} (must be 0)`,
    `head: entry ${lastSeq}, hash ${hash}`,
  ];
  if (firstBad) lines.push(`FIRST BAD: ${firstBad.record} (${firstBad.kind}): ${firstBad.reason}`);
  return { ok, lines: [...lines, ok ? "the books are right" : "THE BOOKS ARE WRONG"] };
}

export function replayReport(pages: readonly ReplayPage[]): Report {
  const organizations = pages.flatMap(({ data }) => data);
  const [first] = pages;
  const balance = organizations.reduce((total, organization) => total + organization.balance, 0n);
  const difference = pages.map(({ rollups }) => rollups.firstDifference).find((found) => found !== null);
  const lines = [
    `balances as of ${first?.asOf ?? "now"}, from entries alone`,
    ...organizations.flatMap(describe),
    `${organizations.length} organisations, together ${toUsdString(balance)} USD`,
  ];
  if (first?.withPrices) lines.push(totalDifference(organizations, first.withPrices));
  lines.push(difference ? `ROLL-UPS DIFFER: ${difference.reason}` : "roll-ups made again from the rows: equal");
  return { ok: !difference, lines };
}

function describe({ organizationId, name, balance, entries, repricing }: ReplayedOrganization): string[] {
  const line = `  ${organizationId}  ${toUsdString(balance).padStart(16)} USD  ${entries} entries  ${name}`;
  if (!repricing) return [line];
  const { charged, repriced, difference, repricedCalls, keptCalls } = repricing;
  const amounts = `charged ${toUsdString(charged)}, then ${toUsdString(repriced)}: ${signed(difference)} USD`;
  return [line, `    ${amounts} (${repricedCalls} calls priced again, ${keptCalls} kept as charged)`];
}

function totalDifference(organizations: readonly ReplayedOrganization[], withPrices: string): string {
  const total = organizations.reduce((sum, { repricing }) => sum + (repricing?.difference ?? 0n), 0n);
  return `with the prices of ${withPrices}: ${signed(total)} USD`;
}

function signed(amount: bigint): string {
  return `${amount > 0n ? "+" : ""}${toUsdString(amount)}`;
}
