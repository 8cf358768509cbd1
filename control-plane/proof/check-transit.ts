import type { OutboxRow } from "../domain/ledger-records.ts";
import type { LedgerEntry } from "../domain/records.ts";
import { isTransit, outReference, paymentOf } from "../domain/transit.ts";
import type { Store } from "../stores/store.ts";
import type { LedgerFault } from "./ledger-fault.ts";
import { inPages } from "./pages.ts";

/** The first transit entry of a page without its counterpart: each out has its in or its outbox row, each in has its out. */
export async function findLoneTransit(store: Store, entries: readonly LedgerEntry[]): Promise<LedgerFault | undefined> {
  for (const entry of entries) {
    const reason = isTransit(entry.to) ? await loneOut(store, entry) : isTransit(entry.from) ? await loneIn(store, entry) : undefined;
    if (reason) return { kind: "transit", seq: entry.id, record: `entry ${entry.id}`, reason };
  }
  return undefined;
}

/** The first outbox row without the entry that it delivers. */
export async function findLoneRow(store: Store, signal: AbortSignal): Promise<LedgerFault | undefined> {
  for await (const page of inPages(store, "outbox", { signal })) {
    for (const row of page) {
      const out = await store.find("ledger", "byReference", [outReference(row.id)]);
      if (!out || !isOf(row, out))
        return { kind: "transit", seq: out?.id ?? 0, record: `outbox row ${row.id}`, reason: "it has no entry of its amount" };
    }
  }
  return undefined;
}

async function loneOut(store: Store, out: LedgerEntry): Promise<string | undefined> {
  const payment = paymentOf(out.reference);
  const find = () => store.find("ledger", "byReference", [payment]);
  // The row is removed only after the entry is there, so one of three reads in this order finds it.
  const arrived = await find();
  const row = arrived ? undefined : await store.get("outbox", payment);
  if (row) return isOf(row, out) ? undefined : `its outbox row says ${row.amount}`;
  const found = arrived ?? (await find());
  if (!found || !isTransit(found.from)) return `the payment ${payment} left its slot and neither arrived nor waits in the outbox`;
  return found.amount === out.amount ? undefined : `${found.amount} arrived of it`;
}

async function loneIn(store: Store, entry: LedgerEntry): Promise<string | undefined> {
  const out = await store.find("ledger", "byReference", [outReference(entry.reference)]);
  if (!out || !isTransit(out.to)) return `the payment ${entry.reference} arrived and never left a slot`;
  return out.amount === entry.amount ? undefined : `${out.amount} left for it`;
}

function isOf(row: OutboxRow, out: LedgerEntry): boolean {
  return row.amount === out.amount && row.fromOrganizationId === out.organizationId && isTransit(out.to);
}
