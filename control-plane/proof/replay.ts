import { organizationAccount } from "../domain/ledger.ts";
import type { Store } from "../stores/store.ts";
import { inPages } from "./pages.ts";
import type { PriceBook } from "./price-book.ts";

interface ReplayOptions {
  readonly organizationId: string;
  /** Itself included. */
  readonly asOf: number;
  readonly signal: AbortSignal;
}

export interface Replay {
  readonly balance: bigint;
  readonly entries: number;
  readonly lastSeq: number;
}

/** What an organisation had at a moment, from its entries alone: no account, no stored balance is looked at. */
export async function replayBalance(store: Store, { organizationId, asOf, signal }: ReplayOptions): Promise<Replay> {
  const account = organizationAccount(organizationId);
  let [balance, entries, lastSeq] = [0n, 0, 0];
  for await (const page of inPages(store, "ledger", { range: { index: "byOrganization", equals: [organizationId] }, signal })) {
    for (const entry of page) {
      // Clocks may be set back, so the order of entries is not always that of their times: every one is looked at.
      if (entry.createdAt > asOf) continue;
      if (entry.to === account) balance += entry.amount;
      if (entry.from === account) balance -= entry.amount;
      entries++;
      lastSeq = entry.id;
    }
  }
  return { balance, entries, lastSeq };
}

export interface Repriced {
  readonly charged: bigint;
  readonly repriced: bigint;
  readonly repricedCalls: number;
  readonly keptCalls: number;
}

/** What an organisation's calls up to a moment were charged, and what they come to with the prices in force at another. */
export async function repriceCalls(
  store: Store,
  options: ReplayOptions & { readonly book: PriceBook; readonly pricesAt: number },
): Promise<Repriced> {
  const { organizationId, asOf, book, pricesAt, signal } = options;
  let [charged, repriced, repricedCalls, keptCalls] = [0n, 0n, 0, 0];
  const range = { index: "byOrganization", equals: [organizationId], before: asOf + 1 } as const;
  for await (const page of inPages(store, "usage", { range, signal })) {
    for (const row of page) {
      const cost = await book.costWithPricesAt(row, pricesAt);
      charged += row.cost;
      repriced += cost ?? row.cost;
      if (cost === undefined) keptCalls++;
      else repricedCalls++;
    }
  }
  return { charged, repriced, repricedCalls, keptCalls };
}
