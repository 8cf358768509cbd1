import { organizationAccount } from "../domain/ledger.ts";
import type { Store } from "../stores/store.ts";
import { inPages } from "./pages.ts";
import type { PriceBook } from "./price-book.ts";

interface ReplayOptions {
  readonly organizationId: string;
  /** Inclusive. */
  readonly asOf: number;
  readonly signal: AbortSignal;
}

/** A balance computed from entries. */
export interface Replay {
  readonly balance: bigint;
  readonly entries: number;
  readonly lastSeq: number;
}

/** The balance of an organization at a moment, computed from its entries alone, without stored balances. */
export async function replayBalance(store: Store, { organizationId, asOf, signal }: ReplayOptions): Promise<Replay> {
  const account = organizationAccount(organizationId);
  let [balance, entries, lastSeq] = [0n, 0, 0];
  for await (const page of inPages(store, "ledger", { range: { index: "byOrganization", equals: [organizationId] }, signal })) {
    for (const entry of page) {
      // Clocks may be set back, so entries are not always in order of time: every entry is checked.
      if (entry.createdAt > asOf) continue;
      if (entry.to === account) balance += entry.amount;
      if (entry.from === account) balance -= entry.amount;
      entries++;
      lastSeq = entry.id;
    }
  }
  return { balance, entries, lastSeq };
}

/** Charged cost and recomputed cost of an organization's calls. */
export interface Repriced {
  readonly charged: bigint;
  readonly repriced: bigint;
  readonly repricedCalls: number;
  /** Calls that count with their charged cost, because the other price cannot be computed exactly. */
  readonly keptCalls: number;
}

/** Sums the charged cost of an organization's calls up to a moment, and their cost with the prices in force at another time. */
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
